// The list of conversations: folding, searching, renaming, deleting.

import { call, fragment } from "./api.js";
import { session } from "./log.js";
import { ages } from "./times.js";

const body = document.body;
const sidebar = document.getElementById("sidebar");
const menu = document.getElementById("menu");
const list = document.getElementById("list");
const search = document.querySelector("#search input");
const phone = matchMedia("(max-width: 48rem)");

export function setTitle(title) {
  const text = title.trim();
  if (!text) return;
  const heading = document.getElementById("title");
  heading.textContent = heading.title = text;
  document.title = `${text} · Photothread`;
  document.querySelectorAll(`.bar [data-ask]`).forEach((button) => (button.dataset.title = text));
}

const isOpen = () => (phone.matches ? body.classList.contains("drawn") : !body.classList.contains("folded"));

function told() {
  menu.setAttribute("aria-expanded", String(isOpen()));
}

function draw(open) {
  body.classList.toggle("drawn", open);
  told();
  (open ? search : menu).focus();
}

function fold(folded) {
  body.classList.toggle("folded", folded);
  // A cookie: the server renders the sidebar as it was left.
  document.cookie = `sidebar=${folded ? "closed" : "open"}; path=/; max-age=31536000; samesite=lax`;
  told();
}

/** Keeps the keyboard focus on the same conversation when the list is replaced. */
function keepFocus() {
  const held = list.contains(document.activeElement) ? document.activeElement : null;
  if (!held) return () => {};
  const { ask, id } = held.dataset;
  const same = id
    ? `[data-ask="${ask}"][data-id="${id}"]`
    : `a[href="${CSS.escape(held.getAttribute("href") ?? "")}"]`;
  return () => {
    if (!held.isConnected) list.querySelector(same)?.focus({ preventScroll: true });
  };
}

let asked = 0;
async function load(offset = 0) {
  const mine = ++asked;
  const query = new URLSearchParams({ q: search.value.trim(), offset });
  if (session) query.set("current", session);
  const content = await fragment(`/list?${query}`);
  // Ignore the result of an older search.
  if (mine !== asked) return;
  const bringBack = keepFocus();
  const items = list.querySelector("ul");
  if (offset && items && content.querySelector("ul")) {
    const added = [...content.querySelectorAll("ul > li")];
    items.append(...added);
    // After “More”, focus the first new item.
    if (document.activeElement.closest(".more")) added[0]?.querySelector("a").focus({ preventScroll: true });
    list.querySelector(".more")?.remove();
    const more = content.querySelector(".more");
    if (more) list.append(more);
  } else {
    list.replaceChildren(content);
  }
  ages(list);
  bringBack();
}

let soon;
export function refreshList() {
  clearTimeout(soon);
  soon = setTimeout(() => load().catch(() => {}), 150);
}

/** Asks in a dialog; runs `act` on “yes” and shows its error there. */
function asks(kind, act) {
  const dialog = document.getElementById(`ask-${kind}`);
  const form = dialog.querySelector("form");
  const trouble = dialog.querySelector(".trouble");
  let about = {};
  document.addEventListener("click", (event) => {
    const button = event.target.closest(`[data-ask="${kind}"]`);
    if (!button) return;
    about = { ...button.dataset };
    const name = dialog.querySelector("[data-fill=title]");
    if (name) name.textContent = `“${about.title}”`;
    if (form.elements.title) form.elements.title.value = about.title;
    trouble.hidden = true;
    dialog.showModal();
    form.elements.title?.select();
  });
  form.addEventListener("submit", async (event) => {
    if (event.submitter?.value !== "yes") return;
    event.preventDefault();
    try {
      await act(about.id, form);
      dialog.close();
    } catch (problem) {
      trouble.textContent = problem.message;
      trouble.hidden = false;
    }
  });
}

async function remove(id) {
  await call("DELETE", `/sessions/${id}`).catch((problem) => {
    // Already deleted in another tab: done.
    if (problem.status !== 404) throw problem;
  });
  if (id === session) location.assign("/");
  else refreshList();
}

async function rename(id, form) {
  const title = form.elements.title.value.trim();
  await call("PUT", `/sessions/${id}`, { title });
  if (id === session) setTitle(title);
  refreshList();
}

export function start() {
  menu.addEventListener("click", () => (phone.matches ? draw(!isOpen()) : fold(isOpen())));
  document.getElementById("veil").addEventListener("click", () => draw(false));
  sidebar.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !phone.matches) return;
    event.preventDefault();
    draw(false);
  });
  phone.addEventListener("change", told);
  told();
  search.addEventListener("input", refreshList);
  search.form.addEventListener("submit", (event) => {
    event.preventDefault();
    load().catch(() => {});
  });
  list.addEventListener("click", (event) => {
    const more = event.target.closest("[data-offset]");
    if (!more) return;
    event.preventDefault();
    load(more.dataset.offset).catch(() => {});
  });
  asks("delete", remove);
  asks("rename", rename);
  // Close the menu when it loses the focus.
  const menus = () => document.querySelectorAll("details.menu[open]");
  document.addEventListener("click", (event) => {
    menus().forEach((open) => { if (!open.contains(event.target) || event.target.closest("a")) open.open = false; });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menus().forEach((open) => {
      open.open = false;
      open.querySelector("summary").focus();
    });
  });
}
