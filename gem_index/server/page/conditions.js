// Filters as lists of conditions: field, comparison, value. A filter is kept as its JSON text, with the digits of its numbers.

import { parseExact } from "./api.js";
import { dated, t } from "./words.js";

const COMPARISONS = ["$eq", "$ne", "$in", "$nin", "$gte", "$lte", "$gt", "$lt", "$contains", "$like", "$exists"];

/** Return the words of a comparison. */
export function comparisonWords(comparison) {
  return COMPARISONS.includes(comparison) ? t(`comparisons.${comparison.slice(1)}`) : comparison;
}

/** Return what is wrong with the text of a filter, or an empty text. */
export function problemOf(text) {
  try {
    const value = JSON.parse(text);
    return value && typeof value === "object" && !Array.isArray(value) ? "" : t("filters.no_object");
  } catch (error) {
    return t("filters.not_json", { message: error.message });
  }
}

/** Return the conditions of a filter, `{name, comparison, value}`; those that combine others have no comparison. */
export function conditionsOf(text) {
  return Object.entries(entriesOf(text)).flatMap(([name, value]) => (name.startsWith("$") ? [{ name, value }]
    : Object.entries(operatorsOf(value)).map(([comparison, operand]) => ({ name, comparison, value: operand }))));
}

/** Return a filter with a condition, instead of the same comparison of the field. */
export function withCondition(text, { name, comparison, value }) {
  const entries = entriesOf(text);
  return written({ ...entries, [name]: shortened({ ...operatorsOf(entries[name]), [comparison]: value }) });
}

/** Return a filter without a condition. */
export function withoutCondition(text, { name, comparison }) {
  const entries = entriesOf(text);
  const { [comparison]: _, ...others } = comparison ? operatorsOf(entries[name]) : {};
  const { [name]: __, ...rest } = entries;
  return written(Object.keys(others).length ? { ...entries, [name]: shortened(others) } : rest);
}

/** Return the values that a filter allows a field to have, as they are clicked. */
export function allowedValues(text, name) {
  const operators = operatorsOf(entriesOf(text)[name]);
  if ("$in" in operators) return operators.$in;
  return "$eq" in operators ? [operators.$eq] : [];
}

/** Return a filter that allows one value of a field more, or no longer. */
export function toggled(text, name, value) {
  const before = allowedValues(text, name);
  const others = before.filter((each) => !same(each, value));
  const values = others.length < before.length ? others : [...before, value];
  const bare = withoutCondition(withoutCondition(text, { name, comparison: "$eq" }), { name, comparison: "$in" });
  if (!values.length) return bare;
  return withCondition(bare, values.length === 1 ? { name, comparison: "$eq", value: values[0] } : { name, comparison: "$in", value: values });
}

/** Return a filter without what it says of the values of a field that are clicked. */
export function withoutValues(text, name) {
  return withoutCondition(withoutCondition(text, { name, comparison: "$eq" }), { name, comparison: "$in" });
}

/** Tell whether two values are one for a filter. */
export function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Return a value as somebody reads it. */
export function shownValue(value) {
  if (value === "") return t("filters.empty");
  if (Array.isArray(value)) return value.map(shownValue).join(", ");
  return typeof value === "string" ? dated(value) : JSON.stringify(value);
}

function entriesOf(text) {
  return text && !problemOf(text) ? parseExact(text) : {};
}

function operatorsOf(value) {
  if (value === undefined) return {};
  return value && typeof value === "object" && !Array.isArray(value) && !isNumber(value) ? value : { $eq: value };
}

function isNumber(value) {
  return Boolean(JSON.isRawJSON?.(value));
}

function shortened(operators) {
  return Object.keys(operators).length === 1 && "$eq" in operators ? operators.$eq : operators;
}

function written(entries) {
  return Object.keys(entries).length ? JSON.stringify(entries) : "";
}
