// The frame: which collection, which view, which language, light or dark.

import { api, explained } from "./api.js";
import { careView, fittedOn } from "./care.js";
import { compareView } from "./compare.js";
import { documentsView } from "./documents.js";
import { announce, fill, h, own, problemPlace } from "./dom.js";
import { mapView } from "./map.js";
import { rerankView } from "./rerank.js";
import { format, go, onPlace, place, setParams } from "./router.js";
import { searchView } from "./search.js";
import { hasServerView, serverView } from "./server.js";
import { themeSwitch } from "./theme.js";
import { uploadView } from "./upload.js";
import { choose, count, language, LANGUAGES, preferred, speak, t, tNodes } from "./words.js";

const VIEWS = {
  search: searchView, documents: documentsView, rerank: rerankView, compare: compareView, map: mapView, care: careView, upload: uploadView,
  server: serverView,
};

const OF_TABLES = ["search", "rerank", "compare"]; // a table of a vector database can only be searched
const OF_NONE = ["upload", "server"]; // these need no collection

const main = document.getElementById("main");
const select = h("select", { id: "collection", change: () => go({ collection: select.value, params: {} }) });
const about = h("p", { class: "about" });
const links = Object.keys(VIEWS).map((name) => [name, h("a")]);
const [problem, tell] = problemPlace();
let collections = null; // until the server has told them
let access = null; // what the key allows
let mounted = null; // collection and view
let leaving = new AbortController(); // its requests end with the view
let update = null;

const side = document.getElementById("side");
// on a phone the views are behind this button
const menu = h("button", { type: "button", class: "menu", "aria-expanded": "false", "aria-controls": "views", click: () => unfold(!side.classList.contains("open")) });

function unfold(open) {
  side.classList.toggle("open", open);
  menu.setAttribute("aria-expanded", String(open));
}

/** Make what surrounds the view, in the language of the page. */
function frame() {
  const skip = document.querySelector(".skip");
  fill(skip, t("frame.skip"));
  fill(menu, t("frame.menu"));
  for (const [name, link] of links) fill(link, t(`views.${name}`));
  const key = (name) => h("kbd", null, name);
  fill(side,
    h("div", { class: "brand" }, h("span", { class: "mark", "aria-hidden": "true" }), "gem-index"),
    h("div", { class: "choose" }, h("label", { for: "collection" }, t("frame.collection")), select, about),
    menu,
    h("nav", { "aria-label": t("frame.views"), id: "views" }, h("ul", null, links.map(([, link]) => h("li", null, link)))),
    problem,
    h("div", { class: "foot" }, themeSwitch(), languages(),
      h("p", { class: "keys" }, tNodes("frame.keys", { slash: key("/"), up: key("\u2191"), down: key("\u2193"), enter: key("Enter"), escape: key("Esc") }))));
}

function languages() {
  const list = h("select", { id: "language", "aria-label": t("frame.language"), change: async () => {
    try {
      await choose(list.value);
    } catch {
      list.value = language;
      tell(t("problems.silent"));
      return;
    }
    mounted = null; // the view is made again
    frame();
    show(place);
    document.getElementById("language").focus();
  } }, Object.entries(LANGUAGES).map(([name, label]) => h("option", { value: name, lang: name }, label)));
  list.value = language;
  return list;
}

/** Read the collections again; `chosen` is gone to. */
async function refresh(chosen) {
  try {
    const [served, allowed] = await Promise.all([api("GET", "collections"), api("GET", "access")]);
    access = allowed;
    collections = [...served.collections, ...served.tables.map(({ name }) => ({ name, table: true }))];
    tell("");
  } catch (error) {
    tell(explained(error));
  }
  fill(select, (collections ?? []).map(({ name }) => h("option", { value: name }, name)));
  if (chosen) go({ collection: chosen, params: {} });
  else show(place);
}

function show({ collection, view, params }) {
  const known = collections?.find(({ name }) => name === collection);
  if (collection === null && collections?.length) {
    go({ collection: collections[0].name }, { replace: true });
    return;
  }
  const starting = collections?.length === 0;
  const offered = (known?.table ? OF_TABLES : Object.keys(VIEWS).filter((name) => name !== "server"))
    .concat(access && hasServerView(access) ? ["server"] : []);
  if (starting && !(OF_NONE.includes(view) && offered.includes(view))) {
    go({ view: "upload" }, { replace: true });
    return;
  }
  const named = offered.includes(view) ? view : "search";
  const title = t(`views.${named}`);
  select.value = collection ?? "";
  fill(about, known?.table ? h("span", null, t("frame.table")) : known ? [h("span", null, count(known.documents, "document")), h("span", null, fittedOn(known))] : null);
  for (const [name, link] of links) {
    link.parentElement.hidden = !offered.includes(name);
    link.setAttribute("href", format({ collection, view: name, params: {} })); // a fixed prefix: it leads nowhere else
    if (name === named) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  unfold(false);
  const of = named === "server" ? null : collection;
  document.title = `${of ?? "gem-index"} \u00b7 ${title}`;
  const here = JSON.stringify([collection, named, collections === null]);
  if (mounted !== here) {
    if (mounted !== null) announce(`${title} ${of ?? ""}`);
    mounted = here;
    leaving.abort();
    leaving = new AbortController();
    const { signal } = leaving;
    const root = h("div", { class: `view ${named}` });
    fill(main, h("h1", null, starting && named !== "server" ? t("frame.start") : [title, of ? [" ", own(of, { class: "of" })] : null]), starting && named !== "server" ? welcome() : null, root);
    const unknown = collection !== null && !known && collections?.length;
    if (collections === null) fill(root, h("div", { class: "actions" }, h("button", { type: "button", click: () => refresh().then(() => main.focus()) }, t("frame.again"))));
    else if (unknown) fill(root, h("p", { class: "problem" }, tNodes("frame.unknown", { name: own(collection) })));
    update = collections !== null && !unknown && (known || OF_NONE.includes(named)) ? VIEWS[named](root, {
      access,
      collection,
      status: known,
      statusOf: (name) => collections.find((each) => each.name === name),
      refresh,
      signal,
      setParams: (changes, options) => { if (!signal.aborted) setParams(changes, options); },
    }) : null;
  }
  update?.(params);
}

function welcome() {
  return h("div", { class: "empty" },
    h("p", null, t("frame.empty")),
    h("details", null, h("summary", null, t("frame.command_line")), h("pre", { tabindex: 0 }, h("code", null, "gem-index build faq questions.jsonl"))));
}

side.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !side.classList.contains("open")) return;
  unfold(false);
  menu.focus();
});
addEventListener("keydown", (event) => { // Enter alone is a new line there
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) event.target.form?.requestSubmit();
});
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector("dialog[open]") || event.target.closest("input:not([type=radio],[type=checkbox]), textarea, select")) return;
  const box = document.getElementById("query");
  if (!box) return;
  event.preventDefault();
  box.focus();
  box.select();
});
// A file that is dropped beside its place would replace the page.
for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the hash holds the place
  main.focus();
});

await speak(preferred());
frame();
onPlace(show);
await refresh();
document.getElementById("query")?.focus();
