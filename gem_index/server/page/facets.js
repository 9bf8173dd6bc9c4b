// How many documents have each value of their fields, beside a list; a click filters by a value.

import { api, collectionPath, explained } from "./api.js";
import { allowedValues, same, shownValue, toggled, withoutValues } from "./conditions.js";
import { fill, h, own } from "./dom.js";
import { count, t } from "./words.js";

const MOST_FIELDS = 8;
const MOST_VALUES = 50; // distinct values in the sample: fields of names, ids or addresses have more
const SHOWN = 8; // values
const ALL = 200;
const without = new Set(); // collections of this page that had no counts to show
const WIDE = matchMedia("(min-width: 64rem)");

/** Return the fields of a collection's metadata. */
export async function fieldsOf(collection, signal) {
  return (await api("GET", collectionPath(collection, "fields"), { signal })).fields;
}

/** Return counts by value; `changed` is called with the new filter when a value is clicked. */
export function facets({ collection, signal, changed }) {
  let names = [];
  let where = "";
  let running = null;
  let loaded = null; // the filter whose counts are shown
  const all = new Set(); // fields whose values are all shown
  const list = h("div", { class: "counts" });
  const problem = h("p", { class: "help" });
  // its place is kept while the first counts are on their way: a list beside it would move under the pointer
  const element = h("details", { class: "facets awaited", open: WIDE.matches, hidden: without.has(collection) }, h("summary", null, t("facets.title")), problem, list);

  function settle() {
    element.classList.remove("awaited");
    element.hidden = !list.children.length && !problem.childNodes.length;
    if (element.hidden) without.add(collection);
    else without.delete(collection);
  }

  async function load() {
    running?.abort();
    const mine = running = new AbortController();
    const chosen = names.filter((name) => allowedValues(where, name).length);
    const others = names.filter((name) => !chosen.includes(name));
    // the other values of a field that is filtered by stay in sight: they are counted without its condition
    const groups = [[others, where], ...chosen.map((name) => [[name], withoutValues(where, name)])].filter(([by]) => by.length);
    try {
      const answers = await Promise.all(groups.map(async ([by, filter]) => {
        const body = JSON.stringify({ by, limit: by.some((name) => all.has(name)) ? ALL : SHOWN });
        return (await api("POST", collectionPath(collection, "count"), { body: filter ? `${body.slice(0, -1)},"where":${filter}}` : body, signal: mine.signal })).counts;
      }));
      if (running !== mine) return;
      const counts = new Map(answers.flat().map((each) => [each.field, each]));
      fill(problem);
      fill(list, names.map((name) => counts.get(name)).filter((each) => each && isUseful(each)).map(facet));
      settle();
    } catch (error) {
      if (error.name === "AbortError" || running !== mine) return;
      loaded = null;
      fill(problem, own(explained(error)));
      settle();
    }
  }

  function isUseful({ field: name, values, documents }) {
    return allowedValues(where, name).length > 0 || (values.length > 0 && (values[0].documents > 1 || documents <= 1));
  }

  function facet({ field: name, values, distinct, missing }) {
    const chosen = allowedValues(where, name);
    const shown = values.slice(0, all.has(name) ? ALL : SHOWN);
    const absent = chosen.filter((value) => !shown.some((each) => same(each.value, value))).map((value) => ({ value, documents: null }));
    const most = Math.max(1, ...shown.map((each) => each.documents));
    return h("section", { class: "facet", "data-field": name },
      h("h2", null, own(name)),
      h("ul", null, [...absent, ...shown].map((each) => h("li", null, h("button", {
        type: "button", "aria-pressed": String(chosen.some((value) => same(value, each.value))), style: { "--w": (each.documents ?? 0) / most },
        click: () => choose(name, each.value),
      }, own(shownValue(each.value), { class: "value" }), h("span", { class: "figure" }, each.documents === null ? "" : count(each.documents)))))),
      missing ? h("p", { class: "help" }, t("facets.missing", { count: missing })) : null,
      !all.has(name) && distinct > shown.length ? h("button", { type: "button", class: "more", click: () => { all.add(name); load().then(() => focus(name)); } },
        distinct > ALL ? t("facets.first", { first: ALL, count: distinct }) : t("facets.all", { count: distinct })) : null);
  }

  async function choose(name, value) {
    changed(toggled(where, name, value));
    await load();
    focus(name, value);
  }

  /** The list was made again: the focus stays where it was. */
  function focus(name, value) {
    const section = [...list.children].find((each) => each.dataset.field === name);
    const buttons = [...(section?.querySelectorAll("li button") ?? [])];
    (buttons.find((each) => value !== undefined && each.querySelector(".value").textContent === shownValue(value)) ?? buttons[0])?.focus();
  }

  signal.addEventListener("abort", () => running?.abort());
  return {
    element,
    /** Count by these fields, as the server lists them. */
    offer: (fields) => {
      names = fields.filter((each) => each.distinct <= MOST_VALUES && each.kinds.some((kind) => kind !== "object")).slice(0, MOST_FIELDS).map((each) => each.name);
      if (!names.length) settle();
      else if (loaded !== null) load();
    },
    /** Show the counts of the documents that a filter accepts; again if `changed`, because documents have changed. */
    show: (filter, again = false) => {
      where = filter;
      if (loaded === filter && !again) return;
      loaded = filter;
      if (names.length) load();
    },
  };
}
