// Requests to the server that sent this page.

import { askForKey } from "./key.js";

let key = null; // in memory only
let asked = null; // the dialog that is open

/** An answer that is an error; status 0 if there was no answer. */
export class ApiError extends Error {
  constructor(status, message, body) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

/** Return the path of a collection, or of something of it. */
export function collectionPath(name, ...parts) {
  return ["collections", encodeURIComponent(name), ...parts].join("/");
}

/** Send a request and return its answer as JSON. */
export async function api(method, path, options) {
  const response = await send(method, path, options);
  return response.json();
}

/** Send a request and return the response; an error is raised, and a key asked for where one is missing. */
export async function send(method, path, { body, signal, type = "application/json", accept } = {}) {
  for (;;) {
    const used = key;
    const headers = {};
    if (body !== undefined) headers["content-type"] = type;
    if (accept) headers.accept = accept;
    if (used !== null) headers.authorization = `Bearer ${used}`;
    const content = body === undefined || typeof body === "string" || body instanceof Blob ? body : JSON.stringify(body);
    let response;
    try {
      response = await fetch(new URL(path, document.baseURI), { method, headers, body: content, signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ApiError(0, "The server does not answer. Is it still running?");
    }
    if (response.ok) return response;
    const error = await errorOf(response);
    if (error.status !== 401) throw error;
    if (used === key) await renewKey(used !== null);
    if (key === null) throw error;
  }
}

/** Send a POST whose answer is server-sent events; calls `heard` with each progress and returns the last event's data. */
export async function events(path, body, heard, signal) {
  const response = await send("POST", path, { body, signal, accept: "text/event-stream" });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new ApiError(0, "The server ended before the work was done; look again at the state of the collection.");
    held += value;
    const blocks = held.split("\n\n");
    held = blocks.pop();
    for (const block of blocks) {
      const kind = /^event: (.*)$/m.exec(block)?.[1];
      if (kind === undefined) continue;
      const data = JSON.parse(/^data: (.*)$/m.exec(block)[1]);
      if (kind === "done") return data;
      if (kind === "error") throw new ApiError(data.status, data.message);
      heard(data);
    }
  }
}

/** Return an error in words for the reader. */
export function explained(error) {
  if (!(error instanceof ApiError)) return String(error.message ?? error);
  if (error.status === 403) return `Your key does not allow this: ${error.message}.`;
  return error.message;
}

async function renewKey(refused) {
  asked ??= askForKey(refused).finally(() => { asked = null; });
  key = await asked;
}

async function errorOf(response) {
  let body = null;
  try {
    body = await response.json();
  } catch { /* a proxy answered */ }
  const error = body?.error;
  const message = (typeof error === "string" ? error : error?.message) ?? `The server answered ${response.status}.`;
  return new ApiError(response.status, message, body);
}
