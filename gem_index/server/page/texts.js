// Texts with words marked. The server counts characters (code points), a browser UTF-16 units.

import { h } from "./dom.js";
import { figure, t } from "./words.js";

const LONGEST = 420; // characters of a hit that is closed
const BEFORE = 140;
const shares = new WeakMap(); // of the marked words

/** Return the parts of a text: `{text, word}`, where word is the place of a word in `words`, or -1 between words. */
export function segments(text, words, begin = 0, end = Infinity) {
  const characters = Array.from(text);
  const parts = [];
  let at = begin;
  const stop = Math.min(end, characters.length);
  words.forEach((word, place) => {
    if (word.begin < at || word.end > stop) return;
    if (word.begin > at) parts.push({ text: characters.slice(at, word.begin).join(""), word: -1 });
    parts.push({ text: characters.slice(word.begin, word.end).join(""), word: place });
    at = word.end;
  });
  if (at < stop) parts.push({ text: characters.slice(at, stop).join(""), word: -1 });
  return parts;
}

/** Return the part of a long text that holds the words with the largest shares, as [begin, end]. */
export function excerpt(text, words) {
  const length = Array.from(text).length;
  if (length <= LONGEST) return [0, length];
  const best = words.reduce((found, word) => (word.share > (found?.share ?? 0) ? word : found), null);
  let begin = Math.max(0, Math.min((best?.begin ?? 0) - BEFORE, length - LONGEST));
  if (begin > 0) begin = words.find((word) => word.begin >= begin)?.begin ?? begin;
  return [begin, Math.min(length, begin + LONGEST)];
}

/** Return a text as nodes; `most` is the share that is shaded most. */
export function shaded(text, words, most, [begin, end] = [0, Infinity]) {
  const length = Array.from(text).length;
  return [
    begin > 0 ? "\u2026 " : null,
    ...segments(text, words, begin, end).map((part) => {
      const word = words[part.word];
      if (!word || Math.abs(word.share) < most / 50) return part.text;
      const mark = h("mark", { class: markClass(word), style: { "--w": weight(word.share, most) } }, part.text);
      shares.set(mark, word.share);
      return mark;
    }),
    end < length ? " \u2026" : null,
  ];
}

/** Give a marked word a title when it is pointed at: a list has thousands of them. */
export function titled(element) {
  if (shares.has(element)) element.title ||= t("match.adds", { share: figure(shares.get(element)) });
}

/** Return how strongly a share is shaded, 0 to 1. */
export function weight(share, most) {
  return most > 0 ? Math.min(1, Math.abs(share) / most).toFixed(3) : "0";
}

/** Return the classes of a word: whether it speaks against the match, and whether the other text has it too. */
export function markClass(word) {
  return `${word.share < 0 ? "against" : "for"}${word.same_word ? " same" : ""}`;
}
