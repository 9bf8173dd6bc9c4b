// Search a collection.

import { api, ApiError, collectionPath, explained } from "./api.js";
import { problemOf, shownValue } from "./conditions.js";
import { announce, fill, h, largest, own, problemPlace } from "./dom.js";
import { codePanel, command, request, exactly, keywords, python, pythonOf } from "./code.js";
import { facets, fieldsOf } from "./facets.js";
import { filterBuilder } from "./filters.js";
import { matchView } from "./match.js";
import { format, place } from "./router.js";
import { excerpt, shaded, titled } from "./texts.js";
import { count, figure, t, tNodes } from "./words.js";

const QUIET = 120; // ms without a key pressed
const MOST = 100; // hits of a request
const MOST_SHOWN = 1000; // hits of a list
const FIRST = 20; // hits that are shown at once, the others after them
const PAIRS = 300; // of words, of a hit: long texts have thousands
const EXPLAINED = 1000; // characters of a question whose words are shaded in the hits: the server's bound
const MODES = ["hybrid", "dense", "lexical"];

/** Make the view; returns what brings it to the present place. */
export function searchView(root, { collection, status, signal, setParams }) {
  let timer = 0; // what is typed and not asked yet
  let running = null; // the request that is not answered yet
  let shown = null; // the question that the hits answer
  let hits = [];

  const query = h("input", {
    type: "search", id: "query", dir: "auto", autocomplete: "off", spellcheck: "false", placeholder: t("search.placeholder"),
    "aria-label": t("search.label", { collection }), "aria-keyshortcuts": "/", input: soon, keydown: keys,
  });
  const modes = h("fieldset", { class: "choices" }, h("legend", { class: "hidden" }, t("search.by")),
    MODES.filter((mode) => !(status.table && mode === "lexical")).map((mode) => h("label", null,
      h("input", { type: "radio", name: "mode", value: mode, change: () => change({ mode: mode === "hybrid" ? "" : mode }) }),
      h("span", null, t(`search.${mode}`)))));
  const k = h("input", { type: "number", min: 1, max: MOST, step: 1, inputmode: "numeric", change: () => change({}) });
  const option = (name) => {
    const box = h("input", { type: "checkbox", change: () => change({ [name]: box.checked ? 1 : "" }) });
    return [box, h("label", { class: "check" }, box, t(`search.${name}`))];
  };
  const [pieces, piecesLabel] = option("pieces");
  const [collapse, collapseLabel] = option("collapse");
  let where = ""; // the filter as JSON
  const filter = filterBuilder({ changed: (text, { typed } = {}) => {
    where = text;
    if (typed) soon();
    else now(true);
  } });
  const side = status.table ? null : facets({ collection, signal, changed: (text) => {
    where = text;
    now(true);
  } });
  const [problem, tell] = problemPlace();
  const list = h("ol", { class: "hits", "aria-label": t("search.list") });
  const note = h("p", { class: "note" });
  const offer = h("div", { class: "actions" }); // what else to try when nothing is found
  const more = h("button", { type: "button", hidden: true, click: next }, t("search.more"));
  const code = codePanel(() => snippets(collection), status);
  fill(root,
    h("form", { role: "search", submit: (event) => { event.preventDefault(); now(true); } },
      h("div", { class: "row ask" }, query, h("button", { type: "submit", class: "primary" }, t("search.submit"))),
      h("div", { class: "row options" }, modes, h("label", { class: "small" }, t("search.hits"), " ", k),
        status.table ? null : collapseLabel, piecesLabel)),
    filter.element, filter.chips, code.panel, // above the hits: below them, more hits would come before it is reached
    h("div", { class: "narrowed" }, side?.element, h("div", null, problem, note, offer, list, h("div", { class: "actions" }, more))));
  if (side) {
    fieldsOf(collection, signal).then((fields) => {
      filter.offer(fields);
      side.offer(fields);
    }).catch((error) => {
      side.offer([]);
      tell(explained(error));
    });
  } else filter.offer([]);
  list.addEventListener("keydown", keys);
  list.addEventListener("pointerover", ({ target }) => titled(target));
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    running?.abort();
  });

  // more hits come when the reader scrolls to the end of the list
  const watching = new IntersectionObserver(([end]) => { if (end.isIntersecting && scrollY > 0) next(); });
  watching.observe(more);
  signal.addEventListener("abort", () => watching.disconnect());

  function soon() {
    clearTimeout(timer);
    timer = setTimeout(() => now(), QUIET);
  }

  function now(push = false) {
    change({}, { replace: !push });
  }

  /** Go to what the controls say: also to what was typed a moment ago. */
  function change(changes, options) {
    clearTimeout(timer);
    timer = 0;
    setParams({ q: query.value, where, k: limited(k.value), open: "", ...changes }, options);
  }

  function keys(event) {
    const opened = list.querySelector(".hit.open");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const buttons = [...list.querySelectorAll(".opener")];
      const at = buttons.findIndex((button) => button.closest(".hit").contains(document.activeElement));
      const next = at + (event.key === "ArrowDown" ? 1 : -1);
      event.preventDefault();
      if (next < 0) query.focus();
      else buttons[Math.min(next, buttons.length - 1)]?.focus();
    } else if (event.key === "Escape" && opened) {
      event.preventDefault();
      setParams({ open: "" });
      opened.querySelector(".opener").focus();
    } else if (event.key === "Escape" && event.currentTarget === list) {
      query.focus();
    }
  }

  async function ask(asked) {
    running?.abort();
    const mine = running = new AbortController();
    list.setAttribute("aria-busy", "true");
    const begun = performance.now();
    try {
      const answer = await api("POST", collectionPath(collection, "search"), { body: bodyOf(asked), signal: mine.signal });
      if (running !== mine) return;
      show(answer, performance.now() - begun, asked);
    } catch (error) {
      if (error.name === "AbortError" || running !== mine) return;
      shown = null; // it may be asked once more
      clear("");
      code.refresh();
      if (asked.where && error instanceof ApiError && /filter|field|operator|where/.test(error.message)) filter.refuse(explained(error));
      else tell(explained(error));
    } finally {
      if (running === mine) {
        running = null;
        list.removeAttribute("aria-busy");
      }
    }
  }

  /** Show no hits, but a text. */
  function clear(text) {
    hits = [];
    fill(list);
    fill(offer);
    more.hidden = true;
    note.textContent = text;
  }

  function show({ results, corrected, synonyms = {} }, milliseconds, asked) {
    const begun = performance.now();
    painted(() => performance.measure("gem-index: hits shown", { start: begun, end: performance.now() })); // before those that come later
    clear("");
    const said = [...usedWords(corrected, synonyms), results.length && results.every((hit) => hit.weak) ? t("search.all_weak") : null].filter(Boolean);
    if (results.length) {
      append(results, asked);
      const facts = [t("search.time", { count: Math.max(1, Math.round(milliseconds)) }),
        status.table ? "" : asked.where ? t("search.before_filter", { count: status.documents }) : count(status.documents, "document"), strength(hits)];
      note.textContent = [`${facts.filter(Boolean).join(" \u00b7 ")}.`, ...said].join(" ");
      announce([t("search.announced", { count: hits.length }), ...said].join(" "));
    } else {
      nothing(asked);
    }
    code.refresh();
  }

  function append(results, asked) {
    const before = hits.length;
    const all = hits = [...hits, ...results];
    const most = largest(results.map((hit) => largest((hit.why?.second_words ?? []).map((word) => word.share))));
    list.style.setProperty("--digits", String(hits.length).length);
    const add = (begin, end) => list.append(...results.slice(begin, end).map((hit, i) => hitItem(hit, before + begin + i, most)));
    const finish = () => {
      more.hidden = results.length < (limited(asked.k) || 10) || hits.length >= MOST_SHOWN;
      openPlace();
    };
    add(0, FIRST);
    if (results.length <= FIRST) finish();
    else {
      more.hidden = true;
      painted(() => {
        if (hits !== all) return; // others were asked for
        add(FIRST, Infinity);
        finish();
      });
    }
  }

  /** Add the next hits to the list. */
  async function next() {
    if (running || more.hidden) return;
    const mine = running = new AbortController();
    const asked = place.params;
    try {
      const { results } = await api("POST", collectionPath(collection, "search"), { body: bodyOf(asked, hits.length), signal: mine.signal });
      if (running !== mine) return;
      append(results, asked);
      announce(t("search.announced", { count: hits.length }));
    } catch (error) {
      if (error.name !== "AbortError" && running === mine) tell(explained(error));
    } finally {
      if (running === mine) running = null;
    }
  }

  function empty() {
    note.textContent = t("documents.empty");
    fill(offer, h("a", { class: "button", href: format({ collection, view: "upload", params: {} }) }, t("documents.add")));
    announce(note.textContent);
  }

  /** Say why nothing was found, and offer another way. */
  function nothing(asked) {
    const button = (label, changes) => h("button", { type: "button", click: () => { change(changes); query.focus(); } }, label);
    const words = asked.mode === "lexical";
    if (status.documents === 0) {
      empty();
      return;
    }
    note.textContent = t(`search.nothing${asked.where ? "_filtered" : ""}${words ? "_words" : ""}`);
    fill(offer, asked.where ? button(t("search.without_filter"), { where: "" }) : null, words ? button(t("search.by_meaning"), { mode: "dense" }) : null);
    announce(note.textContent);
  }

  function hitItem(hit, i, most) {
    const name = nameOf(hit);
    const text = hit.why?.second ?? hit.piece?.text ?? hit.text;
    const marked = hit.why?.second_words ?? [];
    const toggle = () => { if (!timer) setParams({ open: place.params.open === name ? "" : name }); };
    return h("li", { class: hit.weak ? "hit weak" : "hit" },
      h("div", { class: "line" },
        h("button", { type: "button", class: "opener", "aria-expanded": "false", click: toggle },
          h("span", { class: "rank" }, i + 1), own(name, { class: "id" })),
        hit.piece?.heading ? own(hit.piece.heading, { class: "heading" }) : null,
        hit.weak ? h("span", { class: "note", title: t("search.weak_help") }, t("search.weak")) : null,
        h("span", { class: "score", title: scores(hit) }, figure(hit.score))),
      h("p", {
        class: "text", dir: "auto", click: () => { if (getSelection().isCollapsed) toggle(); },
      }, shaded(text, marked, most, excerpt(text, marked))),
      labels(hit),
      h("div", { class: "opened" }));
  }

  function openPlace() {
    const wanted = place.params.open ?? "";
    let found = !wanted;
    [...list.children].forEach((item, i) => {
      const here = wanted !== "" && !found && nameOf(hits[i]) === wanted;
      found ||= here;
      if (item.classList.contains("open") === here) return;
      item.classList.toggle("open", here);
      item.querySelector(".opener").setAttribute("aria-expanded", String(here));
      fill(item.querySelector(".opened"), here ? detail(hits[i]) : null);
      if (here) item.scrollIntoView({ block: "nearest" });
    });
    if (!found && hits.length && list.children.length === hits.length) tell(t("search.not_here", { name: wanted }));
  }

  function detail(hit) {
    return [
      h("p", { class: "note" }, scores(hit)),
      hit.why ? matchView(hit.why, collection, [t("rerank.question"), hit.piece ? t("search.piece", { number: hit.piece.number, id: hit.id }) : hit.id])
        : h("p", { class: "help" }, t("search.unexplained", { count: EXPLAINED })),
      hit.piece ? h("details", null, h("summary", null, t("search.whole")), h("p", { class: "text", dir: "auto" }, hit.text)) : null,
      status.table ? null : h("p", null, h("a", { href: format({ collection, view: "documents", params: { doc: hit.id } }) }, t("search.open"))),
    ];
  }

  return function update(params) {
    put(query, params.q ?? "");
    where = params.where ?? "";
    put(k, limited(params.k) || 10);
    for (const input of modes.querySelectorAll("input")) input.checked = input.value === (params.mode || "hybrid");
    pieces.checked = Boolean(params.pieces);
    collapse.checked = Boolean(params.collapse);
    const { open, ...asked } = params;
    const question = JSON.stringify(asked);
    if (question === shown) {
      tell("");
      openPlace();
      return;
    }
    shown = question;
    tell("");
    const wrong = filter.show(where);
    if (!wrong) side?.show(where);
    if (wrong) {
      running?.abort();
      running = null;
    } else if (!(asked.q ?? "").trim()) {
      running?.abort();
      running = null;
      clear(t("search.type"));
      if (status.documents === 0) empty();
      code.refresh();
    } else {
      ask(asked);
    }
  };
}

/** Call a function when what is on the page now can be seen. */
function painted(run) {
  requestAnimationFrame(() => setTimeout(run));
}

function put(control, value) {
  if (control.value.trim() !== String(value).trim()) control.value = value;
}

function limited(value) {
  const number = Math.round(Number(value));
  return number >= 1 && number !== 10 ? Math.min(number, MOST) : "";
}

function nameOf(hit) {
  return place.params.pieces && hit.piece ? `${hit.id}#${hit.piece.number}` : hit.id;
}

function optionsOf(asked) {
  return {
    k: limited(asked.k) || 10,
    mode: asked.mode || undefined,
    collapse: asked.collapse ? true : undefined,
    pieces: asked.pieces ? true : undefined,
  };
}

/** Return the body of a search; the filter goes as it was written: large numbers keep their digits. */
function bodyOf(asked, offset = 0) {
  const why = Array.from(asked.q).length <= EXPLAINED;
  const body = JSON.stringify({ query: asked.q, ...optionsOf(asked), why, pairs: why ? PAIRS : undefined, offset: offset || undefined });
  return asked.where ? `${body.slice(0, -1)},"where":${asked.where}}` : body;
}

/** Say what was searched for instead of words that no document holds, and beside words that have synonyms. */
function usedWords(corrected, synonyms) {
  return [
    ...Object.entries(corrected).map(([typed, used]) => t("search.corrected", { typed, used })),
    ...Object.entries(synonyms).map(([form, others]) => t("search.synonyms", { form, others: others.join(", ") })),
  ];
}

/** Say how many hits are at least as good as the threshold of the collection's calibration. */
function strength(hits) {
  if (!hits.length || typeof hits[0].weak !== "boolean") return "";
  const strong = hits.findIndex((hit) => hit.weak);
  return strong < 0 ? t("search.all_strong", { count: hits.length }) : t("search.strong", { count: strong });
}

function scores(hit) {
  const parts = [t("search.score", { score: figure(hit.score) })];
  if (hit.cosine !== null) parts.push(t("search.cosine", { score: figure(hit.cosine) }));
  if (hit.bm25 !== null) parts.push(t("search.bm25", { score: figure(hit.bm25, 2) }));
  return parts.join(" \u00b7 ");
}

function labels(hit) {
  const fields = Object.entries(hit.metadata);
  if (!fields.length && !hit.similar?.length) return null;
  return h("ul", { class: "labels", "aria-label": t("document.metadata") },
    fields.map(([name, value]) => h("li", null, own(name, { class: "name" }), " ",
      own(shownValue(value)))),
    hit.similar?.length ? h("li", null, tNodes("search.similar", { ids: own(hit.similar.join(", ")) })) : null);
}

function snippets(collection) {
  const asked = place.params;
  const query = asked.q ?? "";
  const options = optionsOf(asked);
  const where = asked.where && !problemOf(asked.where) ? exactly(asked.where) : undefined;
  return {
    Python: pythonOf(collection, [
      `hits = collection.search(${python(query)}${keywords({ ...options, where })})`,
      "for hit in hits:",
      "    print(hit.id, hit.score, hit.text)",
    ]),
    requests: [request(collectionPath(collection, "search"), { query, ...options, where })],
    CLI: command("search", [collection, query], {
      "-k": options.k, "--mode": options.mode, "--where": where?.json,
      "--collapse": options.collapse, "--pieces": options.pieces,
    }),
  };
}

