// The documents of a collection: a list in an order, page by page, and one document with its neighbors.

import { api, collectionPath, explained } from "./api.js";
import { exactly, codePanel, command, request, keywords, python, pythonOf } from "./code.js";
import { problemOf, shownValue } from "./conditions.js";
import { announce, fill, h, own, problemPlace } from "./dom.js";
import { documentPage } from "./document.js";
import { facets, fieldsOf } from "./facets.js";
import { filterBuilder } from "./filters.js";
import { format, place } from "./router.js";
import { count, t } from "./words.js";

const PAGE = 20;
const EXCERPT = 420; // characters
const QUIET = 300; // ms
const AT_ONCE = 1000; // documents of a download
const MOST_SAVED = 10_000;
const SORTABLE = ["number", "ISO date", "text"];

/** Make the view; returns what brings it to the present place. */
export function documentsView(root, { collection, refresh, signal, setParams }) {
  let timer = 0;
  let running = null;
  let shown = null; // what the list shows
  let total = 0;
  const order = h("select", { id: "order", change: () => setParams({ sort: order.value, from: "" }) });
  const filter = filterBuilder({ changed: (where, { typed } = {}) => {
    clearTimeout(timer);
    if (typed) timer = setTimeout(() => setParams({ where, from: "" }, { replace: true }), QUIET);
    else setParams({ where, from: "" });
  } });
  const side = facets({ collection, signal, changed: (where) => setParams({ where, from: "" }) });
  const [problem, tell] = problemPlace();
  const note = h("p", { class: "note" });
  const list = h("ol", { class: "hits", "aria-label": t("views.documents") });
  const offer = h("div", { class: "actions" });
  const save = h("button", { type: "button", click: download });
  const previous = h("button", { type: "button", click: () => turn(-1) }, t("documents.previous"));
  const next = h("button", { type: "button", click: () => turn(1) }, t("documents.next"));
  const pages = h("nav", { class: "row pages", "aria-label": t("documents.pages") }, previous, next, save);
  const browse = h("div", { class: "narrowed" }, side.element,
    h("div", null, h("div", { class: "row options" }, h("label", { class: "small", for: "order" }, t("documents.order"), " ", order)), filter.element, filter.chips, problem, note, offer, list, pages));
  const one = documentPage({ collection, signal, changed: async () => { shown = null; await refresh(); } });
  const code = codePanel(() => snippets(collection));
  fill(root, browse, one.element, code.panel);
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    running?.abort();
  });
  fill(order, orders([]));
  fieldsOf(collection, signal).then((fields) => {
    filter.offer(fields);
    side.offer(fields);
    fill(order, orders(fields));
    order.value = place.params.sort ?? "";
  }).catch((error) => {
    side.offer([]);
    tell(explained(error));
  });

  function turn(way) {
    const from = Math.max(0, (Number(place.params.from) || 0) + way * PAGE);
    setParams({ from: from || "" });
    list.scrollIntoView({ block: "start" });
  }

  function query(offset, limit, { where, sort }) {
    const asked = new URLSearchParams({ offset, limit });
    if (where) asked.set("where", where);
    if (sort && sort !== "oldest") asked.set("sort_by", sort);
    if (sort !== "oldest") asked.set("newest_first", "true");
    return `${collectionPath(collection, "documents")}?${asked}`;
  }

  async function load(params) {
    running?.abort();
    const mine = running = new AbortController();
    list.setAttribute("aria-busy", "true");
    const from = Number(params.from) || 0;
    try {
      const found = await api("GET", query(from, PAGE, params), { signal: mine.signal });
      if (running !== mine) return;
      total = found.total;
      show(found.documents, from);
    } catch (error) {
      if (error.name === "AbortError" || running !== mine) return;
      shown = null;
      fill(list);
      fill(note);
      fill(offer);
      pages.hidden = true;
      if (params.where && /filter|field|operator/.test(error.message)) filter.refuse(explained(error));
      else tell(explained(error));
    } finally {
      if (running === mine) {
        running = null;
        list.removeAttribute("aria-busy");
      }
    }
  }

  function show(documents, from) {
    list.style.setProperty("--digits", String(from + documents.length).length);
    fill(list, documents.map((each, i) => item(each, from + i)));
    fill(note, documents.length ? t("documents.range", { from: from + 1, to: from + documents.length, count: total })
      : total ? t("documents.only", { count: total }) : t(place.params.where ? "documents.none_accepted" : "documents.empty"));
    fill(offer, total ? null : place.params.where ? h("button", { type: "button", click: () => setParams({ where: "", from: "" }) }, t("documents.show_all"))
      : h("a", { class: "button", href: format({ collection, view: "upload", params: {} }) }, t("documents.add")));
    announce(note.textContent);
    pages.hidden = !total;
    previous.hidden = from === 0;
    next.hidden = from + documents.length >= total;
    save.textContent = total > MOST_SAVED ? t("documents.download_first", { count: MOST_SAVED }) : t("documents.download", { count: total });
  }

  function item({ id, text, metadata }, i) {
    const characters = Array.from(text);
    return h("li", { class: "hit" },
      h("div", { class: "line" }, h("button", { type: "button", class: "opener", click: () => setParams({ doc: id }) },
        h("span", { class: "rank" }, count(i + 1)), own(id, { class: "id" }))),
      h("p", { class: "text", dir: "auto", click: () => { if (getSelection().isCollapsed) setParams({ doc: id }); } },
        characters.slice(0, EXCERPT).join(""), characters.length > EXCERPT ? " \u2026" : null),
      labels(metadata));
  }

  /** Save the documents that the list shows, on all its pages, as JSON lines. */
  async function download() {
    if (save.ariaDisabled) return;
    save.ariaDisabled = "true";
    tell("");
    const parts = [];
    try {
      const last = Math.min(total, MOST_SAVED);
      for (let from = 0; from < last; from += AT_ONCE) {
        const { documents } = await api("GET", query(from, Math.min(AT_ONCE, last - from), place.params), { signal });
        parts.push(...documents.map((each) => `${JSON.stringify(each)}\n`));
        announce(t("documents.downloaded", { done: parts.length, count: last }));
      }
      saveAs(new Blob(parts, { type: "application/x-ndjson" }), `${collection}.jsonl`);
    } catch (error) {
      tell(explained(error));
    } finally {
      save.ariaDisabled = null;
    }
  }

  return function update(params) {
    code.refresh();
    browse.hidden = Boolean(params.doc);
    one.show(params.doc ?? "");
    if (params.doc) return;
    order.value = params.sort ?? "";
    const wrong = filter.show(params.where ?? "");
    const { doc: _, ...asked } = params;
    const wanted = JSON.stringify(asked);
    if (wanted === shown || wrong) return;
    const again = shown === null;
    shown = wanted;
    tell("");
    side.show(params.where ?? "", again);
    load(params);
  };
}

function orders(fields) {
  const sortable = fields.filter((each) => each.kinds.some((kind) => SORTABLE.includes(kind)));
  return [["", t("documents.newest")], ["oldest", t("documents.oldest")], ...sortable.flatMap(({ name }) => [[name, t("documents.ascending", { name })], [`-${name}`, t("documents.descending", { name })]])]
    .map(([value, label]) => h("option", { value }, label));
}

/** Return the metadata of a document as a list. */
function labels(metadata) {
  const entries = Object.entries(metadata);
  return entries.length ? h("ul", { class: "labels", "aria-label": t("document.metadata") },
    entries.map(([name, value]) => h("li", null, own(name, { class: "name" }), " ", own(shownValue(value))))) : null;
}

function saveAs(blob, name) {
  const link = document.createElement("a"); // a link of the page may not lead elsewhere; this one is a file of its own
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function snippets(collection) {
  const { where: text = "", sort = "", from = "", doc = "" } = place.params;
  const where = text && !problemOf(text) ? exactly(text) : undefined;
  if (doc) {
    return {
      Python: pythonOf(collection, [`[document] = collection.get([${python(doc)}])`, `neighbors = collection.similar(${python(doc)}, k=5)`]),
      requests: [
        request(collectionPath(collection, "documents", encodeURIComponent(doc)), undefined, "GET"),
        request(collectionPath(collection, "similar"), { id: doc, k: 5 }),
      ],
      CLI: command("similar", [collection, doc], { "-k": 5 }),
    };
  }
  const options = { where, offset: Number(from) || undefined, limit: PAGE, sort_by: sort && sort !== "oldest" ? sort : undefined, newest_first: sort !== "oldest" ? true : undefined };
  const asked = new URLSearchParams(Object.entries(options).filter(([, value]) => value !== undefined).map(([name, value]) => [name, value?.json ?? value]));
  return {
    Python: pythonOf(collection, [`for document in collection.documents(${keywords(options).slice(2)}):`, "    print(document.id, document.text, document.metadata)"]),
    requests: [request(`${collectionPath(collection, "documents")}?${asked}`, undefined, "GET")],
  };
}
