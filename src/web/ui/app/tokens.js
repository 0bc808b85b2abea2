// API tokens of the logged-in user: list, create, revoke; and the end of all logins. Not on a page without login.

import { call, iconButton } from "./api.js";
import { age, date } from "./times.js";
import { words } from "./words.js";

const dialog = document.getElementById("tokens");

function item(token, load, tell) {
  const row = document.createElement("li");
  const name = document.createElement("span");
  name.textContent = token.name;
  const use = document.createElement("small");
  use.className = "soft";
  const used = token.lastUsedAt ? words.used(age(new Date(token.lastUsedAt))) : words.neverUsed;
  const ends = token.expiresAt && new Date(token.expiresAt);
  use.textContent = ends ? `${used}, ${words.ends(date(ends), ends < Date.now())}` : used;
  const away = iconButton("trash", words.revoke(token.name));
  away.addEventListener("click", () => call("DELETE", `/tokens/${token.tokenId}`).then(load, tell));
  name.append(use);
  row.append(name, away);
  return row;
}

export function start() {
  if (!dialog) return;
  const list = dialog.querySelector(".token-list");
  const trouble = dialog.querySelector(".trouble");
  const shown = dialog.querySelector(".new-token");
  const name = dialog.querySelector("input[name=name]");
  const days = dialog.querySelector("select[name=days]");
  const tell = (problem) => {
    trouble.textContent = problem.message;
    trouble.hidden = false;
  };
  const load = async () => {
    const { tokens } = await call("GET", "/tokens");
    trouble.hidden = true;
    if (tokens.length) list.replaceChildren(...tokens.map((token) => item(token, load, tell)));
    else list.textContent = words.noTokens;
  };
  const make = async () => {
    const wanted = { name: name.value.trim(), expires_in_days: Number(days.value) || null };
    const made = await call("POST", "/tokens", wanted);
    shown.querySelector("code").textContent = made.secret ?? made.token;
    shown.hidden = false;
    name.value = "";
    await load();
    shown.querySelector("code").focus();
  };
  document.getElementById("tokens-open")?.addEventListener("click", () => {
    shown.hidden = true;
    dialog.showModal();
    load().catch(tell);
  });
  dialog.querySelector("[data-make]").addEventListener("click", () => make().catch(tell));
  const out = () => call("DELETE", "/logins").then(() => location.assign("/login"));
  dialog.querySelector("[data-out]").addEventListener("click", () => out().catch(tell));
  name.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    make().catch(tell);
  });
}
