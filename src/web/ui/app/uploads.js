// Files for the next message: chosen, dropped or pasted, with previews.

import { announce, iconButton, toast } from "./api.js";
import { words } from "./words.js";

const MOST = 20;
const list = document.getElementById("picked");
const input = document.getElementById("files");
const veil = document.getElementById("dropping");
let picked = [];
let changed = () => {};

export const any = () => picked.length > 0;

function draw() {
  list.hidden = picked.length === 0;
  list.replaceChildren(
    ...picked.map((one) => {
      const item = document.createElement("li");
      item.append(one.url ? preview(one, item) : named(one.file.name));
      const away = iconButton("close", words.leaveOut(one.file.name));
      away.addEventListener("click", () => remove(one));
      item.append(away);
      return item;
    }),
  );
  changed();
}

function preview(one, item) {
  const image = document.createElement("img");
  image.src = one.url;
  image.alt = one.file.name;
  // The browser cannot show this type, for example HEIC.
  image.addEventListener("error", () => image.isConnected && item.replaceChild(named(one.file.name), image));
  return image;
}

function named(name) {
  const span = document.createElement("span");
  span.className = "name";
  span.textContent = name;
  return span;
}

function remove(one) {
  picked = picked.filter((other) => other !== one);
  if (one.url) URL.revokeObjectURL(one.url);
  draw();
  (list.querySelector("button") ?? document.getElementById("words")).focus();
}

export function add(more) {
  const room = Math.max(0, MOST - picked.length);
  if (more.length > room) toast(words.tooMany(MOST));
  const added = [...more].slice(0, room).map((file) => ({
    file,
    url: file.type.startsWith("image/") ? URL.createObjectURL(file) : null,
  }));
  if (!added.length) return;
  picked.push(...added);
  draw();
  announce(words.added(added.length));
  document.getElementById("words").focus();
}

/** Takes the picked files for sending; files picked later belong to the next message. */
export function take() {
  const taken = picked;
  picked = [];
  input.value = "";
  draw();
  return taken;
}

/** Sending failed: put the files back. */
export function putBack(taken) {
  picked = [...taken, ...picked];
  draw();
}

/** Sent: release the previews. */
export function release(taken) {
  taken.forEach(({ url }) => url && URL.revokeObjectURL(url));
}

export function start(onChange) {
  changed = onChange;
  input.addEventListener("change", () => {
    add(input.files);
    input.value = "";
  });
  document.addEventListener("paste", (event) => {
    const pasted = [...(event.clipboardData?.files ?? [])];
    if (!pasted.length) return;
    event.preventDefault();
    add(pasted);
  });
  let depth = 0;
  let ours = false;
  const carries = (event) => !ours && event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragstart", () => (ours = true));
  document.addEventListener("dragend", () => (ours = false));
  document.addEventListener("dragenter", (event) => {
    if (!carries(event)) return;
    depth += 1;
    veil.hidden = false;
  });
  document.addEventListener("dragleave", (event) => {
    if (!carries(event)) return;
    depth = Math.max(0, depth - 1);
    veil.hidden = depth === 0;
  });
  document.addEventListener("dragover", (event) => carries(event) && event.preventDefault());
  document.addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    veil.hidden = true;
    add(event.dataTransfer.files);
  });
}
