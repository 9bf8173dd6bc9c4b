// A map of the collection: near documents say the like.

import { api, ApiError, collectionPath, events, explained } from "./api.js";
import { codePanel, command, request, python, pythonOf } from "./code.js";
import { shownValue } from "./conditions.js";
import { announce, fill, h, own, problemPlace } from "./dom.js";
import { begin, followed, jobOf } from "./jobs.js";
import { labels, namePlaces } from "./labels.js";
import { format, place } from "./router.js";
import { scatter } from "./scatter.js";
import { count, figure, t } from "./words.js";

// Seen on light and on dark; groups beyond them begin again.
const COLOURS = ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#9c755f", "#d37295", "#499894", "#b6992d", "#6b6ecf", "#8cb369", "#c2571a"];
const RANGES = ["#3b5fb8", "#3f83bd", "#3fa3a9", "#58b47d", "#93b94f", "#c9b23c", "#e39b34", "#e2752f", "#cf4a36"];
const NONE = "#8f9499";
const SETTLED = 250; // ms without a movement after which the address tells the view
const READ = 60; // ms over a point after which its text is read
const FOUND = 20; // hits that are marked
const NAMED = 2; // words of a topic on the map

/** Make the view; returns what brings it to the present place. */
export function mapView(root, { collection, signal, setParams }) {
  const job = `map ${collection}`;
  const [problem, tell] = problemPlace();
  const body = h("div", null);
  const code = codePanel(() => snippets(collection));
  fill(root, problem, body, code.panel);
  let map = null; // what the server says of it
  let shown = null; // the plot with its parts

  async function load() {
    tell("");
    try {
      map = await api("GET", collectionPath(collection, "map"), { signal });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) {
        tell(explained(error));
        return;
      }
      fill(body, h("div", { class: "empty" },
        h("p", null, t("map.none")),
        making(t("map.make"), "primary")));
      return;
    }
    if (signal.aborted) return;
    shown = plot(collection, map, { tell, signal, setParams, load }, making(t("map.again")));
    fill(body, shown.element);
    update(place.params);
  }

  function making(label, look) {
    const work = h("div", null);
    const button = h("button", { type: "button", class: look ?? null, click: () => {
      if (button.ariaDisabled) return;
      follow(begin(job, t("views.map"), ({ heard }) => events(collectionPath(collection, "map"), undefined, heard)));
    } }, label);
    const follow = async (begun) => {
      fill(work, begun.element);
      button.ariaDisabled = "true";
      tell("");
      try {
        await followed(begun, signal);
        announce(t("map.made"));
        await load();
        shown?.element.querySelector("canvas").focus();
      } catch (error) {
        fill(work);
        tell(explained(error));
      } finally {
        button.ariaDisabled = null;
      }
    };
    if (jobOf(job)) follow(jobOf(job));
    return h("div", null, h("div", { class: "actions" }, button), work);
  }

  function update(params) {
    shown?.update(params);
    code.refresh();
  }

  load();
  return update;
}

function plot(collection, map, { tell, signal, setParams, load }, again) {
  const places = new Float32Array(bytesOf(map.places).buffer);
  const positions = new Map(map.ids.map((id, i) => [id, i]));
  const texts = new Map(); // documents that were read
  let groups = null;
  let colouring = null; // the field that the groups are by
  let only = -1; // the group that is shown alone
  const problems = {}; // of what was asked last: its colours, its search, its document
  let asked = null; // the question whose hits are marked
  let hits = [];
  let selected = null;
  let settling = 0;
  let seen = ""; // the part of the plane that the address names
  let reading = 0;

  /** Tell what is wrong with one of the things that the address names; nothing when it is right. */
  function note(part, error) {
    problems[part] = error ? explained(error) : "";
    tell(Object.values(problems).filter(Boolean).join(" "));
  }

  const tip = h("div", { class: "tip", hidden: true });
  const names = labels();
  const points = scatter({
    label: t("map.label", { collection, count: map.ids.length }),
    moved: (view) => {
      clearTimeout(settling);
      settling = setTimeout(() => {
        seen = [view.x.toFixed(6), view.y.toFixed(6), view.zoom.toFixed(2)].join(" "); // here already
        setParams({ at: seen }, { replace: true });
      }, SETTLED);
    },
    drawn: names.place,
    pointed: hover,
    chosen: (i) => setParams({ doc: i < 0 ? "" : map.ids[i] }),
  });
  const by = h("select", { id: "colour", change: () => setParams({ by: by.value, only: "" }) },
    h("option", { value: "" }, t("map.topics")), map.fields.map((name) => h("option", { value: name }, name)));
  const find = h("input", { type: "search", id: "find", dir: "auto", autocomplete: "off", placeholder: t("map.find"), "aria-label": t("map.find") });
  const legend = h("ul", { class: "legend", "aria-label": t("map.groups") });
  const list = h("ol", { class: "found", "aria-label": t("map.found") });
  const card = h("section", { class: "card", "aria-label": t("map.document") });
  const left = map.documents - map.ids.length;
  const zoom = (label, name, run) => h("button", { type: "button", "aria-label": name, click: run }, label);
  const element = h("div", { class: "atlas" },
    h("form", { role: "search", submit: (event) => {
      event.preventDefault();
      if (problems.search) asked = null; // once more
      setParams({ q: find.value.trim() });
    } }, find),
    h("div", { class: "plane" }, points.canvas, names.element, tip,
      h("div", { class: "zoom" }, zoom("+", t("map.zoom_in"), () => points.zoom(1.6)), zoom("\u2212", t("map.zoom_out"), () => points.zoom(1 / 1.6)),
        zoom("\u25cb", t("map.show_all"), () => { points.show({ x: 0.5, y: 0.5, zoom: 1 }); setParams({ at: "" }, { replace: true }); }))),
    h("div", { class: "beside" },
      list, card,
      h("div", { class: "row by" }, h("label", { for: "colour" }, t("map.colour")), by), legend,
      h("p", { class: "note" }, count(map.ids.length, "document"), left > 0 ? [", ", t("map.without", { count: left })] : null), left > 0 ? again : null));

  function hover(i, event) {
    clearTimeout(reading);
    points.canvas.classList.toggle("over", i >= 0);
    if (i < 0) {
      tip.hidden = true;
      return;
    }
    const id = map.ids[i];
    const box = points.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    tip.style.setProperty("top", `${event.clientY - box.top + 14}px`);
    tip.style.setProperty("left", x < box.width / 2 ? `${x}px` : "auto");
    tip.style.setProperty("right", x < box.width / 2 ? "auto" : `${box.width - x}px`);
    const put = (text) => {
      fill(tip, own(id, { class: "id" }), h("span", { dir: "auto" }, Array.from(text).slice(0, 240).join("")));
      tip.hidden = false;
    };
    if (texts.has(id)) put(texts.get(id).text);
    else reading = setTimeout(() => read(id).then(({ text }) => put(text), () => { tip.hidden = true; }), READ);
  }

  async function read(id) {
    if (!texts.has(id)) {
      if (texts.size > 2000) texts.clear();
      texts.set(id, await api("GET", collectionPath(collection, "documents", encodeURIComponent(id)), { signal }));
    }
    return texts.get(id);
  }

  async function colour(field) {
    colouring = field;
    note("colour");
    try {
      const found = field ? await api("GET", `${collectionPath(collection, "map", "colours")}?${new URLSearchParams({ field })}`, { signal }) : topicGroups();
      if (colouring !== field) return;
      const codes = field ? bytesOf(found.codes) : found.codes;
      if (codes.length !== map.ids.length) {
        await load(); // documents were deleted meanwhile
        return;
      }
      groups = { ...found, codes, shades: shadesOf(found), named: namePlaces(places, codes, namedGroups(found)) };
      paint();
    } catch (error) {
      if (colouring === field) note("colour", error);
    }
  }

  function topicGroups() {
    const codes = bytesOf(map.topics);
    const names = map.words.map((words) => words.join(" "));
    const counts = names.map(() => 0);
    let none = 0;
    for (const code of codes) {
      if (code < names.length) counts[code] += 1;
      else none += 1;
    }
    return {
      codes: none ? codes.map((code) => Math.min(code, names.length)) : codes,
      names: none ? [...names, "none"] : names, counts: none ? [...counts, none] : counts, ordered: false, topics: map.words,
    };
  }

  function paint() {
    if (!(only in groups.names)) only = -1;
    const shades = groups.shades.map((shade, code) => (only < 0 || only === code ? number(shade) : 0));
    points.set(places, Uint32Array.from(groups.codes, (code) => shades[code]));
    names.set(groups.named.filter(({ code }) => only < 0 || only === code));
    fill(legend, groups.names.map((name, code) => groups.counts[code] ? h("li", null, h("button", {
      type: "button", "aria-pressed": String(only === code),
      click: () => { setParams({ only: only === code ? "" : code + 1 }); legend.querySelectorAll("button")[shownPlace(code)]?.focus(); },
    }, h("span", { class: "swatch", style: { "--c": groups.shades[code] } }), own(shownName(groups, code)), h("span", { class: "name" }, count(groups.counts[code])))) : null));
  }

  const shownPlace = (code) => groups.counts.slice(0, code).filter(Boolean).length;

  function mark() {
    const best = Math.max(1e-9, hits[0]?.score ?? 0);
    const some = hits.map(({ id, score }) => ({ i: positions.get(id), weight: Math.max(0, score / best) }));
    points.mark([...some, { i: positions.get(selected), weight: 1 }].filter(({ i }) => i !== undefined));
  }

  async function seek(question) {
    asked = question;
    note("search");
    if (!question) {
      hits = [];
      fill(list);
      mark();
      return;
    }
    try {
      const { results } = await api("POST", collectionPath(collection, "search"), { body: { query: question, k: FOUND }, signal });
      if (asked !== question) return;
      hits = results;
      fill(list, results.map(({ id, text, score }) => h("li", null, h("button", {
        type: "button", title: id, click: () => { setParams({ doc: id }); if (positions.has(id)) points.centre(positions.get(id)); },
      }, own(Array.from(text).slice(0, 120).join("")), h("span", { class: "figure" }, figure(score)), positions.has(id) ? null : h("span", { class: "help" }, " ", t("map.no_place"))))));
      announce(count(results.length, "document"));
      mark();
    } catch (error) {
      if (asked !== question) return;
      hits = [];
      fill(list);
      mark();
      note("search", error);
    }
  }

  async function choose(id) {
    selected = id;
    mark();
    note("document");
    if (id === null) {
      fill(card);
      return;
    }
    try {
      const { text, metadata } = await read(id);
      if (selected !== id) return;
      fill(card, h("h2", null, own(id)), h("p", { class: "text", dir: "auto" }, Array.from(text).slice(0, 1000).join("")),
        h("ul", { class: "labels", "aria-label": t("document.metadata") }, Object.entries(metadata).map(([name, value]) => h("li", null,
          own(name, { class: "name" }), " ", own(shownValue(value))))),
        h("p", null, h("a", { href: format({ collection, view: "search", params: { q: Array.from(text).slice(0, 300).join(""), mode: "dense" } }) }, t("document.similar"))));
      announce(text.slice(0, 200));
    } catch (error) {
      if (selected !== id) return;
      fill(card);
      note("document", error);
    }
  }

  return {
    element,
    update({ by: field = "", only: alone = "", q = "", doc = null, at = "" }) {
      by.value = field;
      const code = alone === "" ? -1 : Number(alone) - 1;
      if (document.activeElement !== find) find.value = q;
      if (code !== only) {
        only = code;
        if (groups && field === colouring) paint();
      }
      if (field !== colouring) colour(field);
      if (q !== asked) seek(q);
      if (doc !== selected) choose(doc);
      const [x, y, near] = at.split(" ").map(Number);
      const known = near > 0 && Number.isFinite(x) && Number.isFinite(y);
      if (at !== seen) points.show(known ? { x, y, zoom: near } : { x: 0.5, y: 0.5, zoom: 1 });
      seen = at;
    },
  };
}

/** Return the name of a group; those of other documents and of none are the page's own words. */
function shownName({ names, ordered }, code) {
  const name = names[code];
  const own = (name === "none" && code === names.length - 1) || (name === "other" && !ordered && code >= names.length - 2);
  return own ? t(name === "none" ? "map.none_of_these" : "map.other") : name;
}

/** Return the groups that have a name on the map, the large ones first; ranges of numbers have none. */
function namedGroups(found) {
  const { names, counts, ordered, topics } = found;
  if (ordered) return [];
  return names.map((name, code) => ({ code, name: topics ? topics[code]?.slice(0, NAMED).join(" ") : name, count: counts[code] }))
    .filter(({ code, name, count }) => count && name && shownName(found, code) === names[code])
    .sort((one, other) => other.count - one.count);
}

function shadesOf({ names, ordered }) {
  const ranges = names.length - (names.at(-1) === "none" ? 1 : 0);
  return names.map((name, code) => {
    const last = code === names.length - 1;
    if (last && name === "none") return NONE;
    if (!ordered && name === "other" && code >= names.length - 2) return "#b3b7ba";
    return ordered ? RANGES[Math.round(code * (RANGES.length - 1) / Math.max(1, ranges - 1))] : COLOURS[code % COLOURS.length];
  });
}

/** Return a colour as the number that a pixel holds in memory (alpha, blue, green, red). */
function number(shade) {
  const value = parseInt(shade.slice(1), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

function snippets(collection) {
  const { by, q } = place.params;
  const drawn = by ? [`colours = collection.map_colors(made, ${python(by)})`,
    "for id, (x, y), code in zip(made.ids, made.places, colours.codes):", "    print(id, x, y, colours.names[code])"]
    : ["for id, (x, y), topic in zip(made.ids, made.places, made.topics):", "    print(id, x, y, made.words[topic] if topic >= 0 else ())"];
  const found = q ? [`for hit in collection.search(${python(q)}, k=${FOUND}):`, "    print(hit.id, hit.text)"] : [];
  return {
    Python: pythonOf(collection, ["made = collection.document_map() or collection.make_map(progress=True)", ...drawn, ...found]),
    requests: [
      request(collectionPath(collection, "map")),
      request(collectionPath(collection, "map"), undefined, "GET"),
      ...(by ? [request(`${collectionPath(collection, "map", "colours")}?${new URLSearchParams({ field: by })}`, undefined, "GET")] : []),
      ...(q ? [request(collectionPath(collection, "search"), { query: q, k: FOUND })] : []),
    ],
    CLI: [command("topics", [collection], { "--plot": "map.html" }),
      ...(q ? [command("search", [collection, q], { "-k": FOUND })] : [])].join("\n"),
  };
}
