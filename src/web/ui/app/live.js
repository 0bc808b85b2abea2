// Live updates of this conversation by server-sent events, from any tab or from Telegram.

import { announce } from "./api.js";
import * as draft from "./draft.js";
import { log, refresh, session } from "./log.js";
import { refreshList, setTitle } from "./sidebar.js";
import { words } from "./words.js";

/** Disconnects hidden pages: browsers allow few connections per host. */
const PATIENCE = 30000;

let source = null;
let last = log.dataset.last;
let hiding = null;

function hear(name, listener) {
  source.addEventListener(name, (event) => {
    // The browser's own "error" event has no data.
    if (event.data === undefined) return;
    if (event.lastEventId) last = event.lastEventId;
    listener(JSON.parse(event.data));
  });
}

function answered({ turnId, message }) {
  // Replace the draft by the server's rendering in one step.
  refresh().then(() => draft.end(turnId));
  const said = (message?.content ?? "").replace(/\[Attachment ID: [^\]]*\]/g, "").trim();
  announce(words.answered(said));
  refreshList();
}

function open() {
  if (source || !session) return;
  source = new EventSource(`/sessions/${session}/events?last_event_id=${last}`);
  // After each connect the server sends the running turn again.
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
    // The browser stops after a server error: reconnect with a delay.
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
