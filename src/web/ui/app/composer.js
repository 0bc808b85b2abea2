// The message box: Enter sends, Shift and Enter make a new line, Escape takes the reply back.

import { announce, call, toast, upload } from "./api.js";
import * as draft from "./draft.js";
import { goToEnd, refresh, session } from "./log.js";
import { clearReply, replyTarget } from "./reply.js";
import { refreshList } from "./sidebar.js";
import * as uploads from "./uploads.js";
import { words } from "./words.js";

const form = document.getElementById("composer");
const field = document.getElementById("words");
const button = document.getElementById("send");
const progress = document.getElementById("progress");
const kept = `words of ${session ?? "a new conversation"}`;
let sending = false;
let made = null;

const empty = () => !field.value.trim() && !uploads.files().length;

function fit() {
  // Browsers that cannot size a field by its content.
  if (!CSS.supports("field-sizing", "content")) {
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
  }
  button.disabled = sending || empty();
  sessionStorage.setItem(kept, field.value);
}

export function setWords(text, caret = text.length) {
  field.value = text;
  field.focus();
  field.setSelectionRange(caret, caret);
  fit();
}

/** Says where, beside what is already written. */
export function addPlace(place) {
  const said = field.value.replace(/\s*from \d+,\d+ to \d+,\d+/g, "").trimEnd();
  setWords(said ? `${said} ${place}` : ` ${place}`, said ? undefined : 0);
}

function message() {
  const body = new FormData();
  const reply = replyTarget();
  body.append("content", field.value.trim());
  if (reply) body.append("reply_to", reply.message);
  if (reply?.file) body.append("reply_attachment", reply.file);
  uploads.files().forEach((file) => body.append("files", file, file.name));
  return body;
}

async function send() {
  if (sending || empty()) return;
  sending = true;
  fit();
  const showsProgress = uploads.files().length > 0;
  progress.hidden = !showsProgress;
  progress.value = 0;
  try {
    // A conversation begins with its first message, not with an empty page.
    const id = session ?? (made ??= (await call("POST", "/sessions", {})).session.sessionId);
    const { turnId } = await upload(`/sessions/${id}/messages`, message(), (part) => {
      progress.value = part;
      if (showsProgress) progress.setAttribute("aria-valuetext", words.sending(part));
    });
    field.value = "";
    sessionStorage.removeItem(kept);
    uploads.clear();
    clearReply();
    if (!session) return location.assign(`/c/${id}`);
    draft.expect(turnId);
    goToEnd();
    await refresh();
    refreshList();
  } catch (trouble) {
    toast(trouble.message);
    announce(trouble.message);
  } finally {
    sending = false;
    progress.hidden = true;
    fit();
    field.focus();
  }
}

export function start() {
  uploads.start(fit);
  field.value ||= sessionStorage.getItem(kept) ?? "";
  fit();
  field.addEventListener("input", fit);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape" && replyTarget()) {
      clearReply();
    }
  });
  document.addEventListener("click", (event) => {
    const example = event.target.closest("[data-example]");
    if (example) setWords(example.textContent);
  });
  if (matchMedia("(hover: hover)").matches && !location.hash) field.focus({ preventScroll: true });
}
