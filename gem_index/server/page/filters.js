// Filters by metadata: conditions that are built by clicking and shown one by one, and JSON for experts.

import { parseExact } from "./api.js";
import { comparisonWords, conditionsOf, problemOf, shownValue, withCondition, withoutCondition } from "./conditions.js";
import { announce, field, fill, h, own, problemPlace } from "./dom.js";
import { t, tNodes } from "./words.js";

const OF_KINDS = [ // in the order of a menu
  ["$eq", () => true], ["$ne", () => true],
  ["$contains", (kinds) => kinds.includes("text") || kinds.includes("list")],
  ["$gte", ordered], ["$lte", ordered], ["$exists", () => true],
];

function ordered(kinds) {
  return kinds.some((kind) => ["number", "ISO date", "text"].includes(kind));
}

/**
 * Return a filter of documents: `element` to build it, `chips` with its conditions. `changed` is called with the new text, and with
 * `{typed}` if it is being written as JSON.
 */
export function filterBuilder({ changed }) {
  let text = "";
  let fields = [];
  const [problem, tell] = problemPlace({ id: "where-problem" });
  const name = h("select", { id: "filter-field", change: adapt });
  const comparison = h("select", { id: "filter-comparison", change: adapt });
  const known = h("datalist", { id: "filter-values" });
  const value = h("input", { type: "text", id: "filter-value", dir: "auto", autocomplete: "off", spellcheck: "false", list: "filter-values" });
  const truth = h("select", { id: "filter-truth" });
  const labelled = (label, control) => h("div", { class: "labelled" }, h("label", { for: control.id }, label), control);
  const valuePlace = labelled(t("filters.value"), value);
  const truthPlace = labelled(t("filters.value"), truth);
  const builder = h("form", { class: "row builder", submit: (event) => { event.preventDefault(); add(); } },
    labelled(t("filters.field"), name), labelled(t("filters.comparison"), comparison), valuePlace, truthPlace, known,
    h("button", { type: "submit" }, t("filters.add")));
  const none = h("p", { class: "help" }, t("filters.none"));
  const json = h("textarea", { rows: 2, spellcheck: "false", placeholder: "{\"lang\": \"en\"}", input: () => changed(json.value.trim(), { typed: true }) });
  const raw = h("details", null, h("summary", null, t("filters.as_json")),
    field(t("filters.json"), json, tNodes("filters.json_help", { example: h("code", null, "{\"year\": {\"$gte\": 2020}, \"lang\": {\"$in\": [\"en\", \"de\"]}}") })));
  const element = h("details", { class: "filters" }, h("summary", null, t("filters.title")), builder, none, raw, problem);
  const chips = h("ul", { class: "chips", "aria-label": t("filters.conditions") });

  function adapt({ currentTarget } = {}) {
    const found = fields.find((each) => each.name === name.value);
    const kinds = found?.kinds ?? [];
    if (currentTarget !== comparison) {
      const before = comparison.value;
      fill(comparison, OF_KINDS.filter(([, fits]) => fits(kinds)).map(([key]) => h("option", { value: key }, key === "$exists" ? t("filters.has_value") : comparisonWords(key))));
      if ([...comparison.options].some((option) => option.value === before)) comparison.value = before;
      value.value = "";
      fill(known, (found?.values ?? []).filter((each) => each !== null && typeof each !== "object").map((each) => h("option", { value: String(each) })));
    }
    const yes = comparison.value === "$exists" || (kinds.length === 1 && kinds[0] === "boolean");
    fill(truth, ["true", "false"].map((key) => h("option", { value: key }, comparison.value === "$exists" ? t(`filters.${key}`) : key)));
    valuePlace.hidden = yes;
    truthPlace.hidden = !yes;
    value.inputMode = kinds.includes("number") && !kinds.includes("text") ? "decimal" : "text";
    value.placeholder = kinds.includes("ISO date") ? "2025-01-31" : "";
  }

  function add() {
    const kinds = fields.find((each) => each.name === name.value)?.kinds ?? [];
    const found = truthPlace.hidden ? typed(value.value.trim(), kinds) : truth.value === "true";
    if (typeof found === "string" && kinds.length === 1 && kinds[0] === "number") {
      tell(found ? t("filters.no_number", { found }) : t("filters.no_value"));
      value.focus();
      return;
    }
    tell("");
    value.value = "";
    changed(withCondition(text, { name: name.value, comparison: comparison.value, value: found }));
    announce(t("filters.added"));
  }

  function remove(condition, chip) {
    const next = chip.nextElementSibling ?? chip.previousElementSibling;
    const label = next?.querySelector("button").getAttribute("aria-label");
    changed(withoutCondition(text, condition));
    const left = [...chips.querySelectorAll("button")];
    (left.find((each) => each.getAttribute("aria-label") === label) ?? element.querySelector("summary")).focus();
  }

  function chipOf(condition) {
    const said = condition.comparison ? `${condition.name} ${comparisonWords(condition.comparison)} ${shownValue(condition.value)}`
      : `${condition.name} ${JSON.stringify(condition.value)}`;
    const chip = h("li", null, condition.comparison ? [own(condition.name, { class: "name" }), ` ${comparisonWords(condition.comparison)} `, own(shownValue(condition.value))]
      : own(said),
    h("button", { type: "button", "aria-label": t("filters.remove", { condition: said }), click: () => remove(condition, chip) }, "\u00d7"));
    return chip;
  }

  return {
    element, chips, tell,
    /** Offer these fields, as the server lists them. */
    offer: (found) => {
      fields = found;
      fill(name, fields.map((each) => h("option", { value: each.name }, each.name)));
      builder.hidden = !fields.length;
      none.hidden = Boolean(fields.length);
      adapt();
    },
    /** Show a filter; returns what is wrong with it. */
    show: (where) => {
      text = where;
      if (json.value.trim() !== where) json.value = where;
      const wrong = where ? problemOf(where) : "";
      json.setAttribute("aria-invalid", String(Boolean(wrong)));
      tell(wrong);
      if (wrong) refuse();
      fill(chips, wrong ? null : conditionsOf(where).map(chipOf));
      return wrong;
    },
    /** Show that the server refuses the filter. */
    refuse: (message) => {
      json.setAttribute("aria-invalid", "true");
      if (message) tell(message);
      refuse();
    },
  };

  function refuse() {
    element.open = true;
    raw.open = true;
  }
}

/** Return what somebody typed, as a value of one of the kinds. */
function typed(text, kinds) {
  if (kinds.includes("number") && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text)) return parseExact(`[${text}]`)[0];
  if (kinds.includes("boolean") && /^(true|false)$/.test(text)) return text === "true";
  return text;
}
