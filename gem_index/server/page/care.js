// Manage a collection: its state, drift and refit, near-duplicates, and what only a key for everything may do.

import { adminSections } from "./admin.js";
import { api, collectionPath, events, explained } from "./api.js";
import { codePanel, command, request, pythonOf } from "./code.js";
import { announce, field, fill, h, own, problemPlace } from "./dom.js";
import { begin, followed, jobOf } from "./jobs.js";
import { confirmed } from "./key.js";
import { count, figure, t, tNodes } from "./words.js";

const MOST = 100; // groups on the screen

/** Say what the model of a collection is fitted on. */
export function fittedOn({ fitted, documents }) {
  return fitted ? t(fitted > documents ? "care.fitted_pieces" : "care.fitted_texts", { count: fitted }) : t("care.unfitted");
}

/** Make the view; returns what brings it to the present place. */
export function careView(root, { access, collection, refresh, signal, setParams }) {
  const job = `refit ${collection}`;
  const facts = h("dl", { class: "facts" });
  const drift = h("div", null);
  const work = h("div", null);
  const groups = h("div", null);
  const threshold = h("input", { type: "number", min: 0.5, max: 1, step: 0.01, value: "0.95", id: "threshold" });
  const [problem, tell] = problemPlace();
  const button = (label, run) => h("button", { type: "button", click: ({ currentTarget }) => { if (!currentTarget.ariaDisabled) attempt(run, currentTarget); } }, label);
  const refitting = button(t("care.refit"), () => refit(begin(job, t("care.refit"), async ({ heard }) => {
    await events(collectionPath(collection, "refit"), undefined, heard);
    await refresh();
  })));
  const measuring = h("button", { type: "button", click: () => { if (!measuring.ariaDisabled) asked.drift = null; setParams({ drift: 1 }); } }, t("care.measure"));
  const finding = h("button", { type: "button", click: () => { if (!finding.ariaDisabled) asked.near = null; setParams({ near: threshold.value }); } }, t("care.find"));
  const asked = { drift: null, near: null }; // what the view shows
  const code = codePanel(() => snippets(collection, threshold.value));
  fill(root, problem,
    h("section", null, h("h2", null, t("care.state")), facts),
    h("section", null, h("h2", null, t("care.model")), h("p", { class: "help" }, t("care.model_help")), drift, work,
      h("div", { class: "actions" }, measuring, refitting)),
    h("section", null, h("h2", null, t("care.near")),
      field(t("care.threshold"), threshold, t("care.threshold_help")),
      finding, groups),
    adminSections({ access, collection, refresh, signal }),
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
      ["model", fittedOn(found)],
      ["since_fit", count(found.since_fit)],
      ["vectors", found.vectors],
      ["index", `${found.index.kind}, ${count(found.bytes, "byte")}`],
      ["fingerprint", found.fingerprint],
    ];
    fill(facts, rows.map(([name, value]) => [h("dt", null, t(`facts.${name}`)), h("dd", null, own(value))]));
  }

  async function measure() {
    fill(drift, h("p", { class: "note" }, t("care.measuring")));
    try {
      const found = await api("GET", collectionPath(collection, "drift"), { signal });
      fill(drift, h("p", null, tNodes("care.drift", { change: figure(found.score_change), advice: h("strong", null, t(found.refit_recommended ? "care.recommended" : "care.not_needed")) })), novel(found.novelty));
      announce(drift.textContent);
    } catch (error) {
      fill(drift);
      throw error;
    }
  }

  function novel(novelty) {
    if (!novelty?.found) return null;
    return [h("p", null, t("care.novel", { count: novelty.documents.length })),
      h("ul", null, novelty.topics.map((topic) => h("li", null, own(topic.words.join(", ")), ` (${count(topic.documents, "document")})`)))];
  }

  async function refit(begun) {
    fill(work, begun.element);
    try {
      await followed(begun, signal);
      announce(t("care.refitted"));
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
    fill(groups, h("p", { class: "note" }, shown.length < found.groups.length ? t("care.largest", { count: found.groups.length, most: MOST }) : count(found.groups.length, "group")), shown.map(group));
    announce(count(found.groups.length, "group"));
  }

  function group({ ids, scores, text }) {
    const [first, ...others] = ids;
    const item = h("div", { class: "group" }, h("p", { class: "text", dir: "auto" }, text),
      h("ul", { class: "labels", "aria-label": t("views.documents") },
        ids.slice(0, 50).map((id, i) => h("li", null, own(id), " ", h("span", { class: "name" }, figure(scores[i])))),
        ids.length > 50 ? h("li", null, t("care.more", { count: ids.length - 50 })) : null),
      h("div", { class: "actions" }, button(t("care.delete_others"), async () => {
        const question = tNodes("care.keep", { id: own(first), count: others.length });
        if (!await confirmed(question, t("document.delete"))) return;
        const { deleted } = await api("POST", collectionPath(collection, "documents", "delete"), { body: { ids: others } });
        const next = item.nextElementSibling ?? item.previousElementSibling;
        (next.querySelector("button") ?? finding).focus();
        item.remove();
        announce(t("care.deleted", { count: deleted }));
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
