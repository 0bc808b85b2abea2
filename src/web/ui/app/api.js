// Client of the API: JSON requests, uploads with progress, and errors as readable sentences.

import { words } from "./words.js";

export class Trouble extends Error {
  constructor(status, detail) {
    super(detail || (status ? words.odd : words.away));
    this.status = status;
  }
}

async function troubleOf(response) {
  const problem = await response.json().catch(() => ({}));
  return new Trouble(response.status, problem.detail);
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new Trouble(0);
  }
  if (!response.ok) throw await troubleOf(response);
  return response;
}

export async function call(method, path, body, headers = {}) {
  const options = { method, headers: { Accept: "application/json", ...headers } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  const response = await request(path, options);
  return response.json();
}

/** HTML rendered by the server, parsed but not yet inserted. */
export async function fragment(path) {
  const response = await request(path, { headers: { Accept: "text/html" } });
  const place = document.createElement("template");
  place.innerHTML = await response.text();
  return place.content;
}

/** The ETag of a history, for If-Match. */
export async function etag(session) {
  const response = await request(`/sessions/${session}/history?limit=1`, { cache: "no-store" });
  return response.headers.get("ETag");
}

/** Uses XMLHttpRequest: fetch does not report upload progress. */
export function upload(path, form, onProgress) {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    xhr.open("POST", path);
    xhr.setRequestHeader("Accept", "application/json");
    xhr.responseType = "json";
    xhr.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    xhr.onload = () => {
      if (xhr.status >= 200 && xhr.status < 300) resolve(xhr.response);
      else reject(new Trouble(xhr.status, xhr.response?.detail));
    };
    xhr.onerror = () => reject(new Trouble(0));
    xhr.onabort = xhr.onerror;
    xhr.send(form);
  });
}

const announcer = document.getElementById("announcer");
const toasts = document.getElementById("toasts");

/** Announces a text to screen readers. */
export function announce(text) {
  announcer.textContent = text;
}

/** Shows a text for a short time. */
export function toast(text) {
  const note = document.createElement("p");
  note.className = "toast";
  note.textContent = text;
  toasts.append(note);
  setTimeout(() => note.remove(), 7000);
}

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  svg.setAttribute("class", "i");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

export function iconButton(name, label) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "icon";
  button.setAttribute("aria-label", label);
  button.append(icon(name));
  return button;
}
