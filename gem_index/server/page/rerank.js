// Order candidates by their cosine with a question.

import { api, collectionPath, explained } from "./api.js";
import { codePanel, command, request, json, python, pythonOf, shell } from "./code.js";
import { announce, field, fill, h, own, problemPlace } from "./dom.js";
import { showMatch } from "./match.js";
import { place } from "./router.js";
import { count, figure, t } from "./words.js";

const linesOf = (text) => (text ?? "").split("\n").map((line) => line.trim()).filter(Boolean);

/** Make the view; returns what brings it to the present place. */
export function rerankView(root, { collection, status, signal, setParams }) {
  let shown = null;
  let running = null;
  const query = h("input", { type: "text", autocomplete: "off", id: "question", dir: "auto" });
  const candidates = h("textarea", { rows: 6, id: "candidates", dir: "auto" });
  const [problem, tell] = problemPlace();
  const list = h("ol", { class: "hits", "aria-label": t("rerank.list") });
  const code = codePanel(() => snippets(collection, place.params), status);
  fill(root,
    h("form", { submit: (event) => {
      event.preventDefault();
      setParams({ q: query.value, c: linesOf(candidates.value).join("\n"), open: "" });
    } },
    field(t("rerank.question"), query), field(t("rerank.candidates"), candidates),
    h("div", { class: "actions" }, h("button", { type: "submit", class: "primary" }, t("rerank.submit")))),
    problem, list, code.panel);
  signal.addEventListener("abort", () => running?.abort());

  async function ask({ q, c }) {
    running?.abort();
    const mine = running = new AbortController();
    try {
      const body = { query: q, candidates: linesOf(c) };
      const { results } = await api("POST", collectionPath(collection, "rerank"), { body, signal: mine.signal });
      fill(list, results.map((hit, i) => item(q, hit, i)));
      announce(count(results.length, "candidate"));
      open();
    } catch (error) {
      if (error.name === "AbortError") return;
      shown = null; // it may be asked once more
      tell(explained(error));
    }
    code.refresh();
  }

  function item(q, hit, i) {
    const name = String(hit.index + 1);
    return h("li", { class: "hit", "data-name": name },
      h("div", { class: "line" },
        h("button", { type: "button", class: "opener", "aria-expanded": "false",
          click: () => setParams({ open: place.params.open === name ? "" : name }) },
        h("span", { class: "rank" }, i + 1), own(t("rerank.line", { name }), { class: "id" })),
        h("span", { class: "score" }, figure(hit.score))),
      h("p", { class: "text", dir: "auto" }, hit.text),
      h("div", { class: "opened" }));
  }

  function open() {
    for (const each of list.children) {
      const here = each.dataset.name === place.params.open;
      if (each.classList.contains("open") === here) continue;
      each.classList.toggle("open", here);
      each.querySelector(".opener").setAttribute("aria-expanded", String(here));
      const content = fill(each.querySelector(".opened"));
      if (here) {
        showMatch(content, collection, place.params.q, each.querySelector(".text").textContent, [t("rerank.question"), t("rerank.line", { name: each.dataset.name })], signal)
          .catch((error) => tell(explained(error)));
      }
    }
  }

  list.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && place.params.open) {
      const button = list.querySelector(".hit.open .opener");
      setParams({ open: "" });
      button?.focus();
    }
  });

  return function update(params) {
    const question = JSON.stringify([params.q ?? "", params.c ?? ""]);
    if (question === shown) {
      open();
      return;
    }
    shown = question;
    query.value = params.q ?? "";
    candidates.value = params.c ?? "";
    tell("");
    fill(list);
    if (params.q && params.c) ask(params);
    code.refresh();
  };
}

function snippets(collection, { q = "", c = "" }) {
  const body = { query: q, candidates: linesOf(c) };
  return {
    Python: pythonOf(collection, [
      `for hit in collection.rerank(${python(q)}, ${python(body.candidates)}):`,
      "    print(hit.index, hit.score, hit.text)",
    ]),
    requests: [request(collectionPath(collection, "rerank"), body)],
    CLI: `printf '%s\\n' ${shell(json(body))} | \\\n  ${command("rerank", [], { "--collection": collection })}`,
  };
}
