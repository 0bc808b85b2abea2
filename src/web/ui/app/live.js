// What happens in this conversation, as it happens: here, in another tab, or in Telegram.

import { announce } from "./api.js";
import * as draft from "./draft.js";
import { log, refresh, session } from "./log.js";
import { refreshList, setTitle } from "./sidebar.js";
import { words } from "./words.js";

/** A hidden page need not listen: browsers allow few connections to one place. */
const PATIENCE = 30000;

let source = null;
let last = log.dataset.last;
let hiding = null;

function hear(name, listener) {
  source.addEventListener(name, (event) => {
    // The browser's own "error" has no data.
    if (event.data === undefined) return;
    if (event.lastEventId) last = event.lastEventId;
    listener(JSON.parse(event.data));
  });
}

function answered({ turnId, message }) {
  // The server's rendering takes the place of the draft in one go.
  refresh().then(() => draft.end(turnId));
  const said = (message?.content ?? "").replace(/\[Attachment ID: [^\]]*\]/g, "").trim();
  announce(words.answered(said));
  refreshList();
}

function open() {
  if (source || !session) return;
  source = new EventSource(`/sessions/${session}/events?last_event_id=${last}`);
  // Whenever the line is new, what runs is told anew.
  source.addEventListener("open", () => draft.forget());
  hear("message", () => {
    refresh();
    refreshList();
  });
  hear("turn_started", ({ turnId }) => draft.begin(turnId));
  hear("text", ({ turnId, offset, text }) => draft.write(turnId, offset, text));
  hear("doing", ({ turnId, doing }) => draft.doing(turnId, doing));
  hear("tool_started", () => refresh());
  hear("tool_finished", () => refresh());
  hear("done", answered);
  hear("error", answered);
  hear("cancelled", ({ turnId }) => {
    draft.end(turnId);
    refresh();
  });
  hear("changed", ({ title }) => {
    if (title !== undefined) setTitle(title);
    refresh({ all: true });
    refreshList();
  });
  hear("deleted", () => location.assign("/"));
  source.addEventListener("error", (event) => {
    if (event.data !== undefined || source?.readyState !== EventSource.CLOSED) return;
    // The browser gave up, as after an error of the server: it is asked again, gently.
    close();
    setTimeout(open, 3000);
  });
}

function close() {
  source?.close();
  source = null;
  draft.forget();
}

export function start() {
  open();
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) {
      hiding = setTimeout(close, PATIENCE);
    } else {
      open();
      refresh();
      refreshList();
    }
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => event.persisted && open());
}
