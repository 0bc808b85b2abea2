// The answer while it is written: streamed text, current tool, and a stop button.

import { announce, call, icon, toast } from "./api.js";
import { atEnd, goToEnd, session } from "./log.js";
import { words } from "./words.js";

const place = document.getElementById("draft");
const turns = new Map();
let bubble, text, line, label, painting;

function build() {
  bubble = document.createElement("div");
  bubble.className = "bubble";
  text = document.createElement("p");
  text.className = "draft-text";
  text.dir = "auto";
  line = document.createElement("div");
  line.className = "working";
  const dots = document.createElement("span");
  dots.className = "dots";
  dots.setAttribute("aria-hidden", "true");
  dots.append(...[1, 2, 3].map(() => document.createElement("i")));
  label = document.createElement("span");
  const stop = document.createElement("button");
  stop.type = "button";
  stop.className = "stop";
  stop.append(icon("stop"), words.stop);
  stop.addEventListener("click", cancel);
  line.append(dots, label, stop);
  place.replaceChildren(bubble, line);
}

async function cancel() {
  try {
    await call("POST", `/sessions/${session}/cancel`);
    announce(words.stopped);
  } catch (trouble) {
    toast(trouble.message);
  }
}

const current = () => [...turns.values()].at(0);

function paint() {
  if (painting) return;
  painting = requestAnimationFrame(() => {
    painting = null;
    const turn = current();
    const stays = atEnd();
    place.hidden = !turn;
    if (turn) {
      if (!line) build();
      if (turn.text) {
        text.textContent = turn.text;
        if (!text.isConnected) bubble.append(text);
      } else {
        text.remove();
      }
      label.textContent = turn.doing || (turn.started ? words.working : words.waiting);
    }
    if (stays) goToEnd();
  });
}

function of(id) {
  if (!turns.has(id)) turns.set(id, { text: "", doing: null, started: false });
  return turns.get(id);
}

/** A turn was created; it may be queued behind another. */
export function expect(id) {
  if (!id || ended.has(id)) return;
  of(id);
  paint();
}

export function begin(id) {
  if (ended.has(id)) return;
  of(id).started = true;
  paint();
}

export function write(id, offset, piece) {
  if (ended.has(id)) return;
  const turn = of(id);
  turn.started = true;
  turn.text = (offset ? [...turn.text].slice(0, offset).join("") : "") + piece;
  paint();
}

export function doing(id, what) {
  if (ended.has(id)) return;
  const turn = of(id);
  turn.started = true;
  turn.doing = what;
  if (what) announce(what);
  paint();
}

/** Remembers ended turns, to ignore events that arrive late. */
const ended = new Set();
export function end(id) {
  ended.add(id);
  turns.delete(id);
  paint();
}

/** Reconnected: the server sends the running turn again. */
export function forget() {
  turns.clear();
  paint();
}
