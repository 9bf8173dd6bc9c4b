// Filters by metadata: conditions that are built by clicking and shown one by one, and JSON for experts.

import { parseExact } from "./api.js";
import { COMPARISONS, conditionsOf, problemOf, shownValue, withCondition, withoutCondition } from "./conditions.js";
import { announce, field, fill, h, own, problemPlace } from "./dom.js";

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
  const value = h("input", { type: "text", id: "filter-value", autocomplete: "off", spellcheck: "false", list: "filter-values" });
  const truth = h("select", { id: "filter-truth" });
  const labelled = (label, control) => h("div", { class: "labelled" }, h("label", { for: control.id }, label), control);
  const valuePlace = labelled("Value", value);
  const truthPlace = labelled("Value", truth);
  const builder = h("form", { class: "row builder", submit: (event) => { event.preventDefault(); add(); } },
    labelled("Field", name), labelled("Comparison", comparison), valuePlace, truthPlace, known,
    h("button", { type: "submit" }, "Add condition"));
  const none = h("p", { class: "help" }, "These documents have no metadata to filter by.");
  const json = h("textarea", { rows: 2, spellcheck: "false", placeholder: "{\"lang\": \"en\"}", input: () => changed(json.value.trim(), { typed: true }) });
  const raw = h("details", null, h("summary", null, "As JSON"),
    field("Only documents with these metadata (a filter as JSON)", json,
      ["A value, or an operator: ", h("code", null, "{\"year\": {\"$gte\": 2020}, \"lang\": {\"$in\": [\"en\", \"de\"]}}"), "."]));
  const element = h("details", { class: "filters" }, h("summary", null, "Filter"), builder, none, raw, problem);
  const chips = h("ul", { class: "chips", "aria-label": "Conditions of the filter" });

  function adapt({ currentTarget } = {}) {
    const found = fields.find((each) => each.name === name.value);
    const kinds = found?.kinds ?? [];
    if (currentTarget !== comparison) {
      const before = comparison.value;
      fill(comparison, OF_KINDS.filter(([, fits]) => fits(kinds)).map(([key]) => h("option", { value: key }, key === "$exists" ? "has a value" : COMPARISONS[key])));
      if ([...comparison.options].some((option) => option.value === before)) comparison.value = before;
      value.value = "";
      fill(known, (found?.values ?? []).filter((each) => each !== null && typeof each !== "object").map((each) => h("option", { value: String(each) })));
    }
    const yes = comparison.value === "$exists" || (kinds.length === 1 && kinds[0] === "boolean");
    fill(truth, (comparison.value === "$exists" ? [["true", "yes"], ["false", "no"]] : [["true", "true"], ["false", "false"]])
      .map(([key, label]) => h("option", { value: key }, label)));
    valuePlace.hidden = yes;
    truthPlace.hidden = !yes;
    value.inputMode = kinds.includes("number") && !kinds.includes("text") ? "decimal" : "text";
    value.placeholder = kinds.includes("ISO date") ? "2025-01-31" : "";
  }

  function add() {
    const kinds = fields.find((each) => each.name === name.value)?.kinds ?? [];
    const found = truthPlace.hidden ? typed(value.value.trim(), kinds) : truth.value === "true";
    if (typeof found === "string" && kinds.length === 1 && kinds[0] === "number") {
      tell(`Found ${found || "no value"}; expected a number.`);
      value.focus();
      return;
    }
    tell("");
    value.value = "";
    changed(withCondition(text, { name: name.value, comparison: comparison.value, value: found }));
    announce("Condition added");
  }

  function remove(condition, chip) {
    const next = chip.nextElementSibling ?? chip.previousElementSibling;
    const label = next?.querySelector("button").getAttribute("aria-label");
    changed(withoutCondition(text, condition));
    const left = [...chips.querySelectorAll("button")];
    (left.find((each) => each.getAttribute("aria-label") === label) ?? element.querySelector("summary")).focus();
  }

  function chipOf(condition) {
    const said = condition.comparison ? `${condition.name} ${COMPARISONS[condition.comparison] ?? condition.comparison} ${shownValue(condition.value)}`
      : `${condition.name} ${JSON.stringify(condition.value)}`;
    const chip = h("li", null, condition.comparison ? [own(condition.name, { class: "name" }), ` ${COMPARISONS[condition.comparison] ?? condition.comparison} `, own(shownValue(condition.value))]
      : own(said),
    h("button", { type: "button", "aria-label": `Remove the condition ${said}`, click: () => remove(condition, chip) }, "\u00d7"));
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
