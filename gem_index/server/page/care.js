// Look after a collection: its state, drift and refit, near-duplicates.

import { api, collectionPath, events, explained } from "./api.js";
import { codePanel, command, request, pythonOf } from "./code.js";
import { announce, count, field, figure, fill, h, own, problemPlace } from "./dom.js";
import { begin, followed, jobOf } from "./jobs.js";
import { confirmed } from "./key.js";

const MOST = 100; // groups on the screen
const STAGES = { read: "Reading", fit: "Fitting", encode: "Encoding", index: "Indexing" };

/** Make the view; returns what brings it to the present place. */
export function careView(root, { collection, refresh, signal, setParams }) {
  const job = `refit ${collection}`;
  const facts = h("dl", { class: "facts" });
  const drift = h("div", null);
  const work = h("div", null);
  const groups = h("div", null);
  const threshold = h("input", { type: "number", min: 0.5, max: 1, step: 0.01, value: "0.95", id: "threshold" });
  const [problem, tell] = problemPlace();
  const button = (label, run) => h("button", { type: "button", click: ({ currentTarget }) => { if (!currentTarget.ariaDisabled) attempt(run, currentTarget); } }, label);
  const refitting = button("Refit", () => refit(begin(job, "Refit", STAGES, async ({ heard }) => {
    await events(collectionPath(collection, "refit"), undefined, heard);
    await refresh();
  })));
  const measuring = h("button", { type: "button", click: () => { if (!measuring.ariaDisabled) asked.drift = null; setParams({ drift: 1 }); } }, "Measure drift");
  const finding = h("button", { type: "button", click: () => { if (!finding.ariaDisabled) asked.near = null; setParams({ near: threshold.value }); } }, "Find");
  const asked = { drift: null, near: null }; // what the view shows
  const code = codePanel(() => snippets(collection, threshold.value));
  fill(root, problem,
    h("section", null, h("h2", null, "State"), facts),
    h("section", null, h("h2", null, "Model"), drift, work,
      h("div", { class: "actions" }, measuring, refitting)),
    h("section", null, h("h2", null, "Near-duplicates"),
      field("Near-duplicate threshold (a cosine)", threshold),
      finding, groups),
    code.panel);

  async function attempt(run, control) {
    control.ariaDisabled = "true"; // not disabled: it would lose the focus
    tell("");
    try {
      await run();
    } catch (error) {
      tell(explained(error));
    } finally {
      control.ariaDisabled = null;
    }
  }

  async function state() {
    const found = await api("GET", collectionPath(collection), { signal });
    const rows = [
      ["documents", count(found.documents)],
      ["model", found.fitted ? `fitted on ${count(found.fitted, found.fitted > found.documents ? "piece" : "text")}` : "not fitted yet"],
      ["new since the fit", count(found.since_fit)],
      ["word vectors", found.vectors],
      ["index", `${found.index.kind}, ${count(found.bytes, "byte")}`],
      ["fingerprint", found.fingerprint],
    ];
    fill(facts, rows.map(([name, value]) => [h("dt", null, name), h("dd", null, own(value))]));
  }

  async function measure() {
    fill(drift, h("p", { class: "note" }, "Measuring\u2026"));
    try {
      const found = await api("GET", collectionPath(collection, "drift"), { signal });
      fill(drift, h("p", null, `A refit would change the cosine of two texts by ${figure(found.score_change)} on average: `,
        h("strong", null, found.refit_recommended ? "refit recommended" : "no refit needed"), "."), novel(found.novelty));
      announce(drift.textContent);
    } catch (error) {
      fill(drift);
      throw error;
    }
  }

  function novel(novelty) {
    if (!novelty?.found) return null;
    return [h("p", null, `New subjects: ${count(novelty.documents.length, "text")} far from the texts of the fit.`),
      h("ul", null, novelty.topics.map((topic) => h("li", null, own(topic.words.join(", ")), ` (${count(topic.documents, "document")})`)))];
  }

  async function refit(begun) {
    fill(work, begun.element);
    try {
      await followed(begun, signal);
      announce("The model is fitted on the present texts.");
      fill(drift);
      setParams({ drift: "" });
      await state();
    } finally {
      fill(work);
    }
  }

  async function find() {
    const mine = asked.near;
    const found = await api("POST", collectionPath(collection, "duplicates"), { body: { threshold: Number(threshold.value) }, signal });
    if (mine !== asked.near) return;
    const shown = found.groups.slice(0, MOST);
    fill(groups, h("p", { class: "note" }, count(found.groups.length, "group"),
      shown.length < found.groups.length ? `, the ${MOST} largest` : ""), shown.map(group));
    announce(count(found.groups.length, "group"));
  }

  function group({ ids, scores, text }) {
    const [first, ...others] = ids;
    const item = h("div", { class: "group" }, h("p", { class: "text", dir: "auto" }, text),
      h("ul", { class: "labels", "aria-label": "Documents" },
        ids.slice(0, 50).map((id, i) => h("li", null, own(id), " ", h("span", { class: "name" }, figure(scores[i])))),
        ids.length > 50 ? h("li", null, `and ${count(ids.length - 50)} more`) : null),
      h("div", { class: "actions" }, button("Delete the others", async () => {
        const question = ["Keep ", own(first), ` and delete ${count(others.length, "document")}? They cannot be brought back.`];
        if (!await confirmed(question, "Delete")) return;
        const { deleted } = await api("POST", collectionPath(collection, "documents", "delete"), { body: { ids: others } });
        const next = item.nextElementSibling ?? item.previousElementSibling;
        (next.querySelector("button") ?? finding).focus();
        item.remove();
        announce(`${count(deleted, "document")} deleted`);
        await state();
        await refresh();
      })));
    return item;
  }

  state().catch((error) => tell(explained(error)));
  if (jobOf(job)) attempt(() => refit(jobOf(job)), refitting);
  return function update({ drift: measured = "", near = "" }) {
    if (near) threshold.value = near;
    if (measured !== asked.drift) {
      asked.drift = measured;
      if (measured) attempt(measure, measuring);
      else fill(drift);
    }
    if (near !== asked.near) {
      asked.near = near;
      if (near) attempt(find, finding);
      else fill(groups);
    }
    code.refresh();
  };
}

function snippets(collection, threshold) {
  return {
    Python: pythonOf(collection, [
      "print(collection.status())",
      "if collection.drift().refit_recommended:",
      "    collection.refit()",
      `for group in collection.duplicates(${Number(threshold)}):`,
      "    print(group.ids, group.text)",
    ]),
    requests: [
      request(collectionPath(collection, "drift"), undefined, "GET"),
      request(collectionPath(collection, "refit")),
      request(collectionPath(collection, "duplicates"), { threshold: Number(threshold) }),
    ],
    CLI: [command("status", [collection], {}), command("drift", [collection], {}), command("refit", [collection], {}),
      command("duplicates", [collection], { "--threshold": threshold })].join("\n"),
  };
}
