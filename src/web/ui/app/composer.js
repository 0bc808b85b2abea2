// The message box. Enter sends, Shift+Enter starts a new line, Escape removes the reply.

import { announce, call, toast, upload } from "./api.js";
import * as draft from "./draft.js";
import { goToEnd, refresh, session } from "./log.js";
import { clearReply, replyTarget, setReply } from "./reply.js";
import { refreshList } from "./sidebar.js";
import * as uploads from "./uploads.js";
import { words } from "./words.js";

const form = document.getElementById("composer");
const field = document.getElementById("words");
const button = document.getElementById("send");
const progress = document.getElementById("progress");
const wordsOf = (id) => `words of ${id ?? "a new conversation"}`;
let sending = null;
let made = null;

const empty = () => !field.value.trim() && !uploads.any();
const joined = (...texts) => texts.filter(Boolean).join("\n");

function fit() {
  // For browsers without field-sizing.
  if (!CSS.supports("field-sizing", "content")) {
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
  }
  button.disabled = Boolean(sending) || empty();
  // Keep an unsent message when the page is left.
  sessionStorage.setItem(wordsOf(session), joined(sending?.words, field.value));
}

export function setWords(text, caret = text.length) {
  field.value = text;
  field.focus();
  field.setSelectionRange(caret, caret);
  fit();
}

/** Adds a region to the text. */
export function addPlace(place) {
  const said = field.value.replace(/\s*from \d+,\d+ to \d+,\d+/g, "").trimEnd();
  setWords(said ? `${said} ${place}` : ` ${place}`, said ? undefined : 0);
}

/** Empties the box at once, so that the next message can be written during the upload. */
function take() {
  sending = { words: field.value, reply: replyTarget(), files: uploads.take() };
  field.value = "";
  clearReply();
  form.setAttribute("aria-busy", "true");
  fit();
  return sending;
}

/** Sending failed: put the text back before what was written since. */
function putBack({ words, reply, files }) {
  const caret = field.selectionStart;
  const whole = joined(words, field.value);
  const moved = whole.length - field.value.length;
  field.value = whole;
  field.setSelectionRange(caret + moved, caret + moved);
  uploads.putBack(files);
  if (reply && !replyTarget()) setReply(reply.message, reply.file);
}

function done() {
  sending = null;
  form.removeAttribute("aria-busy");
  progress.hidden = true;
  fit();
}

function body({ words, reply, files }) {
  const body = new FormData();
  body.append("content", words.trim());
  if (reply) body.append("reply_to", reply.message);
  if (reply?.file) body.append("reply_attachment", reply.file);
  files.forEach(({ file }) => body.append("files", file, file.name));
  return body;
}

async function send() {
  if (sending || empty()) return;
  const message = take();
  const showsProgress = message.files.length > 0;
  progress.hidden = !showsProgress;
  progress.value = 0;
  try {
    // The session is created with its first message, not with the empty page.
    const id = session ?? (made ??= (await call("POST", "/sessions", {})).session.sessionId);
    const { turnId } = await upload(`/sessions/${id}/messages`, body(message), (part) => {
      progress.value = part;
      if (showsProgress) progress.setAttribute("aria-valuetext", words.sending(part));
    });
    uploads.release(message.files);
    if (!session) {
      // Text written since belongs to the new conversation.
      sessionStorage.setItem(wordsOf(id), field.value);
      field.value = "";
      done();
      return location.assign(`/c/${id}`);
    }
    done();
    draft.expect(turnId);
    goToEnd();
    await refresh();
    refreshList();
  } catch (trouble) {
    if (sending === message) {
      putBack(message);
      done();
    }
    toast(trouble.message);
    announce(trouble.message);
  } finally {
    // Do not navigate if the user opened another conversation since.
    if ([document.body, button].includes(document.activeElement)) field.focus();
  }
}

export function start() {
  uploads.start(fit);
  field.value ||= sessionStorage.getItem(wordsOf(session)) ?? "";
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
