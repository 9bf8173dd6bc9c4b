// Compare two texts.

import { collectionPath, explained } from "./api.js";
import { codePanel, command, request, python, pythonOf } from "./code.js";
import { announce, field, fill, h, problemPlace } from "./dom.js";
import { showMatch } from "./match.js";
import { place } from "./router.js";
import { figure, t, tNodes } from "./words.js";

/** Make the view; returns what brings it to the present place. */
export function compareView(root, { collection, status, signal, setParams }) {
  let asked = null;
  const first = h("textarea", { rows: 3, id: "first", dir: "auto" });
  const second = h("textarea", { rows: 3, id: "second", dir: "auto" });
  const [problem, tell] = problemPlace();
  const score = h("p", { class: "result" });
  const content = h("div", null);
  const code = codePanel(() => snippets(collection, place.params), status);
  fill(root,
    h("form", { submit: (event) => {
      event.preventDefault();
      setParams({ a: first.value, b: second.value });
    } },
    h("div", { class: "sides" }, field(t("compare.first"), first), field(t("compare.second"), second)),
    h("div", { class: "actions" }, h("button", { type: "submit", class: "primary" }, t("compare.submit")))),
    problem, score, content, code.panel);
  return async function update({ a = "", b = "" }) {
    const mine = JSON.stringify([a, b]);
    if (mine === asked) return;
    asked = mine;
    first.value = a;
    second.value = b;
    tell("");
    fill(score);
    fill(content);
    code.refresh();
    if (!a || !b) return;
    const shown = h("div", null);
    try {
      const why = await showMatch(shown, collection, a, b, [t("compare.first"), t("compare.second")], signal);
      if (mine !== asked) return;
      fill(score, tNodes("compare.cosine", { cosine: h("strong", null, figure(why.cosine)) }));
      fill(content, shown);
      announce(score.textContent);
    } catch (error) {
      if (mine !== asked) return;
      asked = null; // it may be asked once more
      tell(explained(error));
    }
  };
}

function snippets(collection, { a = "", b = "" }) {
  return {
    Python: pythonOf(collection, [`print(collection.encoder.explain_match(${python(a)}, ${python(b)}))`]),
    requests: [request(collectionPath(collection, "explain"), { text: a, with: b })],
    CLI: command("explain", [a], { "--with": b, "--collection": collection }),
  };
}
