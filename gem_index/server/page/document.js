// One document: its text and metadata, its neighbors; edit and delete.

import { api, collectionPath, explained, parseExact } from "./api.js";
import { shownValue } from "./conditions.js";
import { announce, field, fill, h, own, problemPlace } from "./dom.js";
import { confirmed } from "./key.js";
import { joined, partsOf } from "./parts.js";
import { format, place, setParams } from "./router.js";
import { figure, t, tNodes } from "./words.js";

const NEIGHBORS = 5;
const EXCERPT = 160; // characters of a neighbor
const QUERY = 300; // characters of the text that are searched for

/** Return the page of one document; `changed` is called when it is stored or deleted. */
export function documentPage({ collection, signal, changed }) {
  let asked = "";
  const [problem, tell] = problemPlace();
  const content = h("div", null);
  const back = h("a", null, "\u2190 ", t("document.back"));
  const element = h("article", { class: "document", hidden: true }, h("p", null, back), problem, content);

  async function load(id) {
    tell("");
    fill(content, h("p", { class: "note" }, t("document.loading")));
    try {
      const found = await api("GET", collectionPath(collection, "documents", encodeURIComponent(id)), { signal });
      if (asked !== id) return;
      read(found);
      announce(t("document.announced", { id }));
    } catch (error) {
      if (asked !== id) return;
      fill(content);
      tell(explained(error));
    }
  }

  function read(found) {
    const near = h("div", null);
    const edit = h("button", { type: "button", click: () => write(found) }, t("document.edit"));
    const entries = Object.entries(found.metadata);
    fill(content,
      h("h2", null, own(found.id)),
      h("p", { class: "text whole", dir: "auto", tabindex: 0 }, found.text),
      entries.length ? h("dl", { class: "facts" }, entries.map(([name, value]) => [h("dt", null, own(name)), h("dd", null, own(shownValue(value)))]))
        : h("p", { class: "help" }, t("document.no_metadata")),
      h("div", { class: "actions" }, edit,
        h("button", { type: "button", class: "danger", click: ({ currentTarget }) => remove(found.id, currentTarget) }, t("document.delete")),
        h("a", { class: "button", href: format({ collection, view: "search", params: { q: Array.from(found.text).slice(0, QUERY).join(""), mode: "dense" } }) }, t("document.similar"))),
      h("section", null, h("h2", null, t("document.nearest")), near));
    neighbors(found.id, near);
    return edit;
  }

  async function neighbors(id, near) {
    try {
      const { results } = await api("POST", collectionPath(collection, "similar"), { body: { id, k: NEIGHBORS }, signal });
      fill(near, results.length ? h("ol", { class: "neighbors" }, results.map((hit) => {
        const characters = Array.from(hit.text);
        return h("li", null, h("a", { href: format({ ...place, params: { ...place.params, doc: hit.id } }) }, own(hit.id)),
          h("span", { class: "figure", title: t("document.cosine") }, figure(hit.score)),
          h("p", { dir: "auto" }, own(characters.slice(0, EXCERPT).join("")), characters.length > EXCERPT ? " \u2026" : null));
      })) : h("p", { class: "help" }, t("document.alone")));
    } catch (error) {
      if (error.name !== "AbortError") fill(near, h("p", { class: "help" }, own(explained(error))));
    }
  }

  function write(found) {
    const parts = partsOf(found);
    const texts = parts.map((part, i) => {
      const area = h("textarea", { rows: i === parts.length - 1 ? 8 : 2, id: `document-text${i || ""}`, dir: "auto" });
      area.value = part.text;
      return area;
    });
    const before = texts.map((area) => area.value); // a browser writes other line ends
    const metadata = h("textarea", { rows: 6, id: "document-metadata", spellcheck: "false" });
    metadata.value = JSON.stringify(found.metadata, null, 2);
    const [place_, tellHere] = problemPlace();
    const cancel = () => read(found).focus();
    const store = h("button", { type: "submit", class: "primary" }, t("document.save"));
    fill(content, h("h2", null, own(found.id)),
      h("form", { class: "edit", submit: async (event) => {
        event.preventDefault();
        if (store.ariaDisabled) return;
        let parsed;
        try {
          parsed = parseExact(metadata.value);
        } catch (error) {
          tellHere(t("document.not_json", { message: error.message }));
          metadata.focus();
          return;
        }
        store.ariaDisabled = "true";
        try {
          const written = { id: found.id, ...joined(parts.map((part, i) => ({ ...part, text: texts[i].value === before[i] ? part.text : texts[i].value }))), metadata: parsed };
          await api("PUT", collectionPath(collection, "documents"), { body: { documents: [written] } });
          await changed();
          announce(t("document.saved"));
          read(written).focus();
        } catch (error) {
          tellHere(explained(error));
          store.ariaDisabled = null;
        }
      }, keydown: (event) => { if (event.key === "Escape") cancel(); } },
      parts.map(({ weight }, i) => field(weight === null ? t("document.text") : t("document.part", { weight }), texts[i])), field(t("document.metadata_json"), metadata), place_,
      h("div", { class: "actions" }, store, h("button", { type: "button", click: cancel }, t("key.cancel")))));
    texts[0].focus();
  }

  async function remove(id, button) {
    if (button.ariaDisabled) return;
    if (!await confirmed(tNodes("document.question", { id: own(id), collection: own(collection) }), t("document.delete"))) {
      button.focus();
      return;
    }
    button.ariaDisabled = "true";
    try {
      await api("POST", collectionPath(collection, "documents", "delete"), { body: { ids: [id] } });
      announce(t("document.deleted", { id }));
      setParams({ doc: "" }, { replace: true });
      await changed();
    } catch (error) {
      tell(explained(error));
      button.ariaDisabled = null;
    }
  }

  return {
    element,
    /** Show a document; nothing without an id. */
    show: (id) => {
      element.hidden = !id;
      back.setAttribute("href", format({ ...place, params: { ...place.params, doc: "" } })); // a fixed prefix: it leads nowhere else
      if (id === asked) return;
      asked = id;
      if (id) load(id);
      else fill(content);
    },
  };
}
