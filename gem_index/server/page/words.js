// The page's own words, in a table for each language; numbers and dates as its readers write them.

import { recall, remember } from "./remember.js";

/** The languages that have a table, each by its own name. */
export const LANGUAGES = { en: "English", de: "Deutsch" };

const NAME = "language";
const DAY = /^\d{4}-\d\d-\d\d$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/;

/** The language that the page speaks. */
export let language = null;
let table = {};
let numbers = null;
let plurals = null;
let days = null;
let times = null;
const decimals = new Map(); // by their digits

/** Return the language that was chosen on this page, else the first of the browser's languages that has a table. */
export function preferred() {
  const known = Object.keys(LANGUAGES);
  return recall(NAME, known) ?? navigator.languages.map(primary).find((each) => known.includes(each)) ?? "en";
}

/** Speak a language from now on; what is on the page already keeps its words. */
export async function speak(next) {
  table = await (await fetch(new URL(`page/words.${next}.json`, document.baseURI))).json();
  language = next;
  document.documentElement.lang = next;
  const locale = navigator.languages.find((each) => primary(each) === next) ?? next; // such as de-CH
  numbers = new Intl.NumberFormat(locale);
  plurals = new Intl.PluralRules(next);
  days = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: "UTC" });
  times = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });
  decimals.clear();
  for (const digits of [2, 3]) decimals.set(digits, new Intl.NumberFormat(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits }));
}

/** Speak a language, and remember it. */
export async function choose(next) {
  await speak(next);
  remember(NAME, next);
}

/** Return words of the table; `values` fill their places, and `values.count` chooses between one and many. */
export function t(key, values) {
  return tNodes(key, values).join("");
}

/** Return words of the table as a list, for values that are elements. */
export function tNodes(key, values = {}) {
  const [group, name] = key.split(".");
  const found = table[group][name];
  const words = typeof found === "string" ? found : found[plurals.select(values.count)] ?? found.other;
  return words.split(/\{(\w+)\}/).map((part, i) => (i % 2 ? shown(values[part]) : part));
}

/** Return a whole number with separators, and what is counted. */
export function count(value, unit) {
  return unit === undefined ? numbers.format(value) : t(`units.${unit}`, { count: value });
}

/** Return a number to two or three decimals with a minus that is as wide as a digit. */
export function figure(value, digits = 3) {
  return typeof value === "number" ? decimals.get(digits).format(value).replace("-", "\u2212") : "\u2013";
}

/** Return an ISO date, or date and time, as readers write it; another text as it is. */
export function dated(text) {
  const day = DAY.test(text);
  const time = day || TIME.test(text) ? new Date(text) : new Date(NaN);
  if (Number.isNaN(time.getTime()) || (day && time.toISOString().slice(0, 10) !== text)) return text;
  return (day ? days : times).format(time);
}

function shown(value) {
  return typeof value === "number" ? numbers.format(value) : value;
}

function primary(tag) {
  return tag.split("-")[0].toLowerCase();
}
