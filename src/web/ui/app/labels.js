// Edits tags and references of a message in place. A change applies to the revision that was read; after a conflict the
// history is read again, so that no other change is overwritten.

import { Trouble, call, etag, iconButton } from "./api.js";
import { log, refresh, session } from "./log.js";
import { words } from "./words.js";

const dialog = document.getElementById("ask-labels");
const form = dialog.querySelector("form");
const list = dialog.querySelector(".ref-list");
const trouble = dialog.querySelector(".trouble");
const fields = form.elements;
let entry = null;
let refs = [];
let before = "";

const find = (id) => log.querySelector(`:scope > article[data-id="${id}"]`);
const read = (article) => ({
  tags: [...article.querySelectorAll(".tag[data-tag]")].map((tag) => tag.dataset.tag),
  refs: [...article.querySelectorAll("[data-ref]")].map((ref) => JSON.parse(ref.dataset.ref)),
});

function draw() {
  list.replaceChildren(
    ...refs.map((ref) => {
      const item = document.createElement("li");
      const name = document.createElement("span");
      name.textContent = ref.title || ref.url;
      name.title = ref.url;
      const away = iconButton("close", words.removeRef(ref.title || ref.url));
      away.addEventListener("click", () => {
        refs = refs.filter((other) => other !== ref);
        draw();
      });
      item.append(name, away);
      return item;
    }),
  );
}

function fill(article) {
  const labels = read(article);
  before = JSON.stringify(labels);
  fields.tags.value = labels.tags.join(", ");
  refs = labels.refs;
  fields.url.value = fields["ref-title"].value = "";
  draw();
}

function tell(text) {
  trouble.textContent = text;
  trouble.hidden = !text;
}

/** Includes text in the two fields even if “Add” was not pressed. */
function addRef() {
  const url = fields.url.value.trim();
  if (!url) return true;
  if (!/^https?:\/\/\S+$/i.test(url)) {
    tell(words.badUrl);
    return false;
  }
  const title = fields["ref-title"].value.trim();
  refs = [...refs.filter((ref) => ref.url !== url), title ? { url, title } : { url }];
  fields.url.value = fields["ref-title"].value = "";
  tell("");
  draw();
  return true;
}

async function patch(tries = 3) {
  const state = await etag(session);
  // Read after the ETag: the shown labels may be newer, never older, and a later change is refused.
  await refresh({ all: true });
  const article = find(entry);
  if (!article) throw new Trouble(404, words.gone);
  if (JSON.stringify(read(article)) !== before) {
    fill(article);
    throw new Trouble(412, words.someoneElse);
  }
  const tags = fields.tags.value.split(",").map((tag) => tag.trim()).filter(Boolean);
  try {
    await call("PATCH", `/sessions/${session}/history/${entry}`, { tags, refs }, { "If-Match": state });
  } catch (problem) {
    // Only a new message came in between: compare the labels and try again.
    if (problem.status === 412 && tries > 1) return patch(tries - 1);
    throw problem;
  }
}

async function save() {
  if (!addRef()) return;
  try {
    await patch();
    dialog.close();
    await refresh({ all: true });
    find(entry)?.querySelector("[data-labels]")?.focus();
  } catch (problem) {
    tell(problem.message);
  }
}

export function start() {
  log.addEventListener("click", (event) => {
    const button = event.target.closest("[data-labels]");
    if (!button || !session) return;
    const article = button.closest("article");
    entry = article.dataset.id;
    tell("");
    fill(article);
    dialog.showModal();
  });
  dialog.querySelector("[data-add]").addEventListener("click", () => addRef());
  form.addEventListener("submit", (event) => {
    if (event.submitter?.value !== "yes") return;
    event.preventDefault();
    save();
  });
}
