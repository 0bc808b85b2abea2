// The lightbox: one picture in full size, with navigation through all pictures of the conversation.

import { fragment } from "./api.js";
import { addPlace } from "./composer.js";
import { base, log, session } from "./log.js";
import { Mark } from "./mark.js";
import { setReply } from "./reply.js";
import { words } from "./words.js";
import { Zoom } from "./zoom.js";

const dialog = document.getElementById("lightbox");
const stage = document.getElementById("lb-stage");
const image = document.getElementById("lb-image");
const about = document.getElementById("lb-about");
const hint = document.getElementById("lb-hint");
const strip = document.getElementById("lb-strip");
const download = document.getElementById("lb-download");
const markButton = dialog.querySelector("[data-lb=mark]");
const zoom = new Zoom(stage, image);
let shots = [];
let at = 0;

const shot = () => shots[at];

const mark = new Mark(stage, document.getElementById("lb-box"), zoom, {
  onDrawn: (region) => {
    const { photo, message } = shot().dataset;
    dialog.close();
    setReply(message, photo);
    addPlace(words.here(region));
  },
  onTooSmall: () => (hint.textContent = words.tooSmall),
});

function marking(active) {
  mark.set(active);
  dialog.classList.toggle("marking", active);
  markButton.setAttribute("aria-pressed", String(active));
  hint.textContent = active ? words.drawHint : "";
}

function show(index) {
  at = (index + shots.length) % shots.length;
  const { photo, name, about: facts } = shot().dataset;
  marking(false);
  image.classList.add("loading");
  image.alt = shot().querySelector("img").alt;
  // Show the loaded thumbnail until the large view arrives.
  image.src = shot().querySelector("img").currentSrc || shot().href;
  const large = new Image();
  large.onload = () => {
    if (shot()?.dataset.photo !== photo) return;
    image.src = large.src;
    image.classList.remove("loading");
  };
  large.src = `/attachments/${photo}?size=2048`;
  about.textContent = [shots.length > 1 && words.position(at + 1, shots.length), name, facts].filter(Boolean).join(" · ");
  download.href = `/attachments/${photo}?download=1`;
  download.download = name;
  dialog.querySelectorAll(".lb-side").forEach((button) => (button.hidden = shots.length < 2));
  strip.replaceChildren();
  if (session) {
    fragment(`${base}/strip/${photo}`)
      .then((content) => shot()?.dataset.photo === photo && strip.replaceChildren(content))
      .catch(() => {});
  }
}

function open(link) {
  shots = [...log.querySelectorAll(".shot[data-photo]")];
  dialog.showModal();
  show(shots.indexOf(link));
  dialog.querySelector("[data-lb=close]").focus();
}

const actions = {
  close: () => dialog.close(),
  before: () => show(at - 1),
  after: () => show(at + 1),
  in: () => zoom.at(1.5),
  out: () => zoom.at(1 / 1.5),
  mark: () => marking(!mark.active),
  reply: () => {
    const { message, photo } = shot().dataset;
    dialog.close();
    setReply(message, photo);
  },
};

const keys = { ArrowLeft: "before", ArrowRight: "after", "+": "in", "=": "in", "-": "out", m: "mark", r: "reply" };

export function start() {
  log.addEventListener("click", (event) => {
    const link = event.target.closest(".shot[data-photo]");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    open(link);
  });
  image.addEventListener("load", () => zoom.fit());
  zoom.onSwipe = (step) => shots.length > 1 && show(at + step);
  dialog.addEventListener("click", (event) => {
    const button = event.target.closest("[data-lb]");
    if (button) actions[button.dataset.lb]();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "0") zoom.fit();
    else if (keys[event.key] && (shots.length > 1 || !event.key.startsWith("Arrow"))) actions[keys[event.key]]();
    else return;
    event.preventDefault();
  });
  dialog.addEventListener("cancel", (event) => {
    if (!mark.active) return;
    event.preventDefault();
    marking(false);
  });
  dialog.addEventListener("close", () => {
    const link = shot();
    marking(false);
    image.removeAttribute("src");
    shots = [];
    // Return the focus to the picture unless the message box has it.
    if (document.activeElement === document.body) link?.focus({ preventScroll: true });
  });
}
