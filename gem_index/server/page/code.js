// Code for what is on the screen, quoted so that any text may be in it.

import { copyButton } from "./copy.js";
import { h } from "./dom.js";
import { t } from "./words.js";

// Control, invisible and bidirectional characters, which a reader of code would not see.
const UNSEEN = /[\u0000-\u001f\u007f-\u00a0\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** Return a value as JSON whose characters can all be seen. */
export function json(value) {
  if (value instanceof Exact) return value.json;
  if (Array.isArray(value)) return `[${value.map(json).join(",")}]`;
  if (value && typeof value === "object") {
    return `{${Object.entries(value).filter(([, each]) => each !== undefined).map(([name, each]) => `${json(name)}:${json(each)}`).join(",")}}`;
  }
  return JSON.stringify(value).replace(UNSEEN, escape);
}

/** A JSON text that is written on as it is: a browser would round its large numbers. */
class Exact {
  constructor(parts) {
    this.json = parts.join("");
    this.python = parts.map((part) => ({ true: "True", false: "False", null: "None" }[part] ?? part)).join("");
  }
}

/** Return JSON for `json`, `python` and the others, number by number as it was written. */
export function exactly(text) {
  const parts = text.match(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s"[\]{}:,]+/g);
  return new Exact(parts.map((part) => ({ ":": ": ", ",": ", " }[part] ?? (part.startsWith("\"") ? json(JSON.parse(part)) : part))));
}

function escape(character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Return a text as one word of a POSIX shell; of bash where it has characters that cannot be seen. */
export function shell(text) {
  if (/^[A-Za-z0-9_./:@%+=,-]+$/.test(text)) return text;
  UNSEEN.lastIndex = 0;
  if (!UNSEEN.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  return `$'${text.replace(/[\\']/g, "\\$&").replaceAll("\0", "").replace(UNSEEN, (found) => (found === "\n" ? "\\n" : escape(found)))}'`;
}

/** Return a JSON value as Python. */
export function python(value) {
  if (value instanceof Exact) return value.python;
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value).map(([name, each]) => `${json(name)}: ${python(each)}`).join(", ")}}`;
  }
  return json(value);
}

/** Return a request to this server, which `codeOf` writes in several languages. */
export function request(path, body, method = "POST") {
  return { path, body, method };
}

/** Return the code of some requests to this server, by language. */
function codeOf(requests) {
  return { curl: requests.map(curl).join("\n"), httpx: httpx(requests), JavaScript: javascript(requests) };
}

/** Return a call of curl. */
export function curl({ path, body, method }) {
  const url = urlOf(path);
  return [
    `curl ${method === "POST" && body !== undefined ? "" : `-X ${method} `}${shell(url)}`,
    "  -H \"Authorization: Bearer $GEM_INDEX_KEY\"",
    ...(body === undefined ? [] : ["  -H 'content-type: application/json'", `  -d ${shell(json(body))}`]),
  ].join(" \\\n");
}

/** Return Python that sends requests with httpx. */
function httpx(requests) {
  return [
    "import os",
    "",
    "import httpx",
    "",
    `key = {"Authorization": f"Bearer {os.environ['GEM_INDEX_KEY']}"}`,
    `with httpx.Client(base_url=${python(document.baseURI)}, headers=key) as server:`,
    ...requests.map(({ path, body, method }) => [
      `    answer = server.${method.toLowerCase()}(${python(path)}${body === undefined ? "" : `, json=${python(defined(body))}`})`,
      "    print(answer.raise_for_status().json())",
    ].join("\n")),
  ].join("\n");
}

/** Return JavaScript that sends requests with fetch. */
function javascript(requests) {
  return [
    "const headers = { Authorization: `Bearer ${process.env.GEM_INDEX_KEY}`, \"content-type\": \"application/json\" };",
    `for (const [method, url, body] of [`,
    ...requests.map(({ path, body, method }) => `  [${json(method)}, ${json(urlOf(path))}${body === undefined ? "" : `, ${json(json(body))}`}],`),
    "]) {",
    "  const answer = await fetch(url, { method, headers, body });",
    "  if (!answer.ok) throw new Error(await answer.text());",
    "  console.log(await answer.json());",
    "}",
  ].join("\n");
}

function urlOf(path) {
  return new URL(path, document.baseURI).href;
}

function defined(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Return a command of gem-index: options, then what is no option, even if it begins with a dash. */
export function command(name, places, options) {
  const said = Object.entries(options).flatMap(([option, values]) => [values].flat().map((value) => [option, value]))
    .filter(([, value]) => value !== undefined && value !== false)
    .map(([option, value]) => (value === true ? option : `${option} ${shell(String(value))}`));
  const guarded = places.some((place) => place.startsWith("-")) ? ["--"] : [];
  return ["gem-index", name, ...said, ...guarded, ...places.map(shell)].join(" ");
}

/** Return Python that opens a collection and does something with it. */
export function pythonOf(collection, lines) {
  return ["from gem_index import Home", "", `collection = Home().collection(${python(collection)})`, ...lines].join("\n");
}

/** Return Python keyword arguments, without those that are undefined. */
export function keywords(values) {
  return Object.entries(values).filter(([, value]) => value !== undefined)
    .map(([name, value]) => `, ${name}=${python(value)}`).join("");
}

let chosen = "Python";

/**
 * Return a panel with code in several languages; `make` returns it by language, and the requests that do the same
 * under `requests`, whenever the panel is looked at.
 * Of a table of a vector database the page does not know the URL, which Python and the command line need.
 */
export function codePanel(make, { table = false } = {}) {
  const code = h("code", null);
  const block = h("pre", { tabindex: 0, "aria-label": t("code.label") }, code);
  const tabs = h("div", { class: "choices", role: "group", "aria-label": t("code.language") });
  const show = () => {
    const { requests, ...others } = make();
    const all = { ...(table ? {} : others), ...(requests ? codeOf(requests) : {}) };
    if (!(chosen in all)) chosen = Object.keys(all)[0];
    code.textContent = all[chosen];
    tabs.replaceChildren(...Object.keys(all).map((language) => h("button", {
      type: "button", "aria-pressed": String(language === chosen),
      click: () => { chosen = language; show(); tabs.querySelector("[aria-pressed=true]").focus(); },
    }, language)));
  };
  const copy = copyButton(() => code.textContent);
  const panel = h("details", { class: "code" }, h("summary", null, t("code.title")),
    h("div", { class: "row" }, tabs, copy), block);
  panel.addEventListener("toggle", () => { if (panel.open) show(); });
  return { panel, refresh: () => { if (panel.open) show(); } };
}
