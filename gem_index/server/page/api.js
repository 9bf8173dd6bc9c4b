// Requests to the server that sent this page.

import { askForKey } from "./key.js";
import { t } from "./words.js";

let key = null; // in memory only
let asked = null; // the dialog that is open
const EVENTS = "text/event-stream";
const LARGE = /[:[,]\s*-?\d{16,}\s*[,\]}]/; // a whole number in JSON: texts with one are read more slowly

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
  const text = await response.text().catch((error) => {
    throw error.name === "AbortError" ? error : silent();
  });
  return parseExact(text);
}

/** Parse JSON, and keep the digits of whole numbers that a browser would round. */
export function parseExact(text) {
  return JSON.parse(text, LARGE.test(text) ? exact : undefined);
}

/** Keep the digits of whole numbers that a browser would round. */
function exact(name, value, context) {
  return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source) && JSON.rawJSON
    ? JSON.rawJSON(context.source) : value;
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
      throw silent();
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
  const response = await send("POST", path, { body, signal, accept: EVENTS });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const parse = eventParser(heard);
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      throw error.name === "AbortError" ? error : cut();
    });
    if (done) throw cut();
    const ended = parse(value);
    if (ended) return ended;
  }
}

/** Send a file whose answer is server-sent events; calls `sent` with the share that has left, else as `events`. */
export function upload(path, file, sent, heard, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch does not say how much has left
    const parse = eventParser(heard);
    let seen = 0;
    const take = () => {
      if (request.status !== 200) return;
      const part = request.responseText.slice(seen);
      seen += part.length;
      try {
        const ended = parse(part);
        if (ended) resolve(ended);
      } catch (error) {
        reject(error);
      }
    };
    request.open("POST", new URL(path, document.baseURI));
    request.setRequestHeader("content-type", "application/octet-stream");
    request.setRequestHeader("accept", EVENTS);
    if (key !== null) request.setRequestHeader("authorization", `Bearer ${key}`);
    request.upload.addEventListener("progress", (event) => sent(event.loaded / Math.max(1, event.total)));
    request.addEventListener("progress", take);
    request.addEventListener("load", () => {
      take();
      reject(request.status === 200 ? cut() : errorFrom(request.status, parsed(request.responseText)));
    });
    request.addEventListener("error", () => reject(silent()));
    request.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
    signal?.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

/** Return a function that takes the parts of a stream of events, and returns the data of the last one when it has come. */
function eventParser(heard) {
  let held = "";
  return (part) => {
    held += part;
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
    return null;
  };
}

function cut() {
  return new ApiError(0, t("problems.cut"));
}

function silent() {
  return new ApiError(0, t("problems.silent"));
}

/** Return an error in words for the reader; none for what was given up. */
export function explained(error) {
  if (error.name === "AbortError") return "";
  if (!(error instanceof ApiError)) return String(error.message ?? error);
  if (error.status === 403) return t("problems.forbidden", { message: error.message });
  return error.message;
}

async function renewKey(refused) {
  asked ??= askForKey(refused).finally(() => { asked = null; });
  key = await asked;
}

async function errorOf(response) {
  return errorFrom(response.status, parsed(await response.text()));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null; // a proxy answered
  }
}

function errorFrom(status, body) {
  const error = body?.error;
  const message = (typeof error === "string" ? error : error?.message) ?? t("problems.answered", { status: String(status) });
  return new ApiError(status, message, body);
}
