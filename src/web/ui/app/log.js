// The message list. Messages are rendered by the server; this inserts and replaces them, and fetches older ones on
// scroll.

import { fragment } from "./api.js";
import { clocks } from "./times.js";

export const log = document.getElementById("log");
const scroll = document.getElementById("scroll");
const draft = document.getElementById("draft");
const toEnd = document.getElementById("to-end");
export const base = log.dataset.base;
export const session = log.dataset.session;

const articles = () => [...log.querySelectorAll(":scope > article")];
const known = new Map();

/** The HTML of an entry as the server sent it, without later changes of the scripts. */
function source(article) {
  const copy = article.cloneNode(true);
  copy.querySelector(":scope > .day")?.remove();
  return copy.outerHTML;
}

export const atEnd = () => Math.abs(scroll.scrollTop) < 60;

export function goToEnd() {
  scroll.scrollTop = 0;
}

function sameDayOnce() {
  let day;
  for (const article of articles()) {
    if (article.dataset.day === day) article.querySelector(":scope > .day")?.remove();
    day = article.dataset.day;
  }
}

function keepOpen(from, to) {
  const before = from.querySelectorAll("details");
  to.querySelectorAll("details").forEach((details, at) => (details.open = before[at]?.open ?? false));
}

const reachable = (article) => [...article.querySelectorAll("a[href], button, summary, [tabindex]")];
const find = (key) => log.querySelector(`:scope > article[data-key="${CSS.escape(key)}"]`);

/** Returns a function that restores the keyboard focus after its element was replaced. */
function keepFocus() {
  const held = document.activeElement;
  const article = held?.closest("#log > article");
  if (!article) return () => {};
  const key = article.dataset.key;
  const at = reachable(article).indexOf(held);
  return () => {
    const now = find(key);
    // Moving an element also loses its focus.
    if (now && document.activeElement === document.body) reachable(now)[at]?.focus({ preventScroll: true });
  };
}

/** Inserts and replaces rendered entries, removes deleted ones, and returns the new ones. */
function merge(content, perhapsGone) {
  const fresh = [];
  const there = new Set();
  const bringBack = keepFocus();
  let previous = null;
  for (const next of [...content.querySelectorAll("article")]) {
    const key = next.dataset.key;
    const html = source(next);
    const old = find(key);
    let here = old;
    if (!old || known.get(key) !== html) {
      known.set(key, html);
      clocks(next);
      if (old) {
        keepOpen(old, next);
        old.replaceWith(next);
      } else {
        fresh.push(next);
      }
      here = next;
    } else {
      // The entry with the day heading may be deleted.
      const day = next.querySelector(":scope > .day");
      if (day && !here.querySelector(":scope > .day")) here.prepend(day);
    }
    const follows = previous ? previous.nextElementSibling === here : here.isConnected;
    if (!follows) previous ? previous.after(here) : draft.before(here);
    previous = here;
    there.add(key);
  }
  for (const article of perhapsGone) {
    if (there.has(article.dataset.key)) continue;
    known.delete(article.dataset.key);
    article.remove();
  }
  sameDayOnce();
  bringBack();
  return fresh;
}

/** The first entry that may still change: that of a running turn, or the last one. */
function settledUntil() {
  const all = articles();
  const open = all.find((article) => article.classList.contains("running"));
  return (open ?? all.at(-1))?.dataset.id ?? 0;
}

const listeners = [];
export const onFresh = (listener) => listeners.push(listener);

let running = null;
let again = null;

/** Fetches what is new. Concurrent calls are merged into one or two requests. */
export function refresh({ all = false } = {}) {
  if (!session) return Promise.resolve();
  if (running) {
    again = { all: all || again?.all };
    return running.then(() => running ?? undefined);
  }
  running = once(all)
    .catch((trouble) => {
      // Deleted in another tab.
      if (trouble.status === 404) location.assign("/");
    })
    .finally(() => {
      running = null;
      if (again) {
        const next = again;
        again = null;
        refresh(next);
      }
    });
  return running;
}

async function once(all) {
  // Older entries may be inserted during this request; it does not cover them.
  const asked = all ? articles() : [];
  const from = all ? (asked[0]?.dataset.id ?? 0) : settledUntil();
  const content = await fragment(`${base}/entries?from=${from}`);
  const stays = atEnd();
  const fresh = merge(content, content.querySelector("[data-cut]") ? [] : asked);
  fresh.forEach((article) => article.classList.add("fresh"));
  if (stays) goToEnd();
  else if (fresh.length) toEnd.hidden = false;
  listeners.forEach((listener) => listener(fresh));
}

async function older(marker) {
  const before = marker.dataset.before;
  if (!before || marker.dataset.busy) return;
  marker.dataset.busy = "1";
  try {
    const content = await fragment(`${base}/entries?before=${before}`);
    const next = content.querySelector("[data-before]")?.dataset.before;
    let previous = marker;
    for (const article of [...content.querySelectorAll("article")]) {
      if (known.has(article.dataset.key)) continue;
      known.set(article.dataset.key, source(article));
      clocks(article);
      previous.after(article);
      previous = article;
    }
    sameDayOnce();
    if (!next) marker.remove();
    else marker.dataset.before = next;
  } finally {
    delete marker.dataset.busy;
    if (marker.isConnected) watchOlder(marker);
  }
}

let watcher;
function watchOlder(marker) {
  watcher?.disconnect();
  watcher = new IntersectionObserver(
    (seen) => seen.some((entry) => entry.isIntersecting) && older(marker).catch(() => {}),
    { root: scroll, rootMargin: "800px 0px 0px" },
  );
  watcher.observe(marker);
}

export function show(id) {
  const article = document.getElementById(`m${id}`) ?? log.querySelector(`[data-message="${id}"]`)?.closest("article");
  if (!article) return false;
  article.scrollIntoView({ block: "center", behavior: "smooth" });
  article.classList.remove("seen");
  requestAnimationFrame(() => article.classList.add("seen"));
  return true;
}

export function start() {
  articles().forEach((article) => known.set(article.dataset.key, source(article)));
  clocks(log);
  const marker = document.getElementById("older");
  if (marker) watchOlder(marker);
  scroll.addEventListener("scroll", () => { if (atEnd()) toEnd.hidden = true; }, { passive: true });
  toEnd.addEventListener("click", () => {
    goToEnd();
    toEnd.hidden = true;
  });
  log.addEventListener("click", (event) => {
    const link = event.target.closest("a.pointed, .refs a[href^='#m']");
    if (link && show(link.hash.slice(2))) event.preventDefault();
  });
}
