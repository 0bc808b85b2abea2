// The reply target of the next message: a message, or one photo of it.

import { icon } from "./api.js";
import { log } from "./log.js";
import { words } from "./words.js";

const bar = document.getElementById("replying");
const field = document.getElementById("words");
let target = null;

export const replyTarget = () => target;

function describe(message, file) {
  const shot = file && log.querySelector(`.shot[data-photo="${file}"]`);
  const article =
    shot?.closest("article") ?? document.getElementById(`m${message}`) ??
    log.querySelector(`[data-message="${message}"]`)?.closest("article");
  const said = article?.querySelector(".words, .answer")?.textContent.trim().split("\n")[0] ?? "";
  const shots = article ? [...article.querySelectorAll(".shot")] : [];
  const at = shots.indexOf(shot);
  const which = at >= 0 && shots.length > 1 ? words.photoOf(at + 1, shots.length) : "";
  return [which, said].filter(Boolean).join(" · ") || words.thisPicture;
}

function chosen(file) {
  log.querySelectorAll(".photo.chosen").forEach((photo) => photo.classList.remove("chosen"));
  if (file) log.querySelector(`.shot[data-photo="${file}"]`)?.closest(".photo").classList.add("chosen");
}

export function setReply(message, file) {
  target = { message, file };
  const parts = [];
  if (file) {
    const thumb = document.createElement("img");
    thumb.src = `/attachments/${file}?size=96`;
    thumb.alt = "";
    thumb.addEventListener("error", () => thumb.remove());
    parts.push(thumb);
  }
  const text = document.createElement("span");
  text.className = "text";
  const strong = document.createElement("b");
  strong.textContent = words.replyingTo;
  text.append(strong, ` ${describe(message, file)}`);
  const away = document.createElement("button");
  away.type = "button";
  away.className = "icon";
  away.dataset.unreply = "";
  away.setAttribute("aria-label", words.dontReply);
  away.append(icon("close"));
  bar.replaceChildren(...parts, text, away);
  bar.hidden = false;
  chosen(file);
  field.focus();
}

export function clearReply() {
  target = null;
  bar.hidden = true;
  bar.replaceChildren();
  chosen(null);
}

export function start() {
  // The server renders the target if the page was opened by a reply link.
  const value = (name) => bar.querySelector(`input[name=${name}]`)?.value;
  if (value("reply_to")) {
    setReply(value("reply_to"), value("reply_attachment"));
    history.replaceState(null, "", log.dataset.base);
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-reply], [data-unreply]");
    if (!link || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    if (link.dataset.unreply !== undefined) {
      clearReply();
      field.focus();
    } else {
      link.closest("dialog")?.close();
      setReply(link.dataset.reply, link.dataset.file);
    }
  });
}
