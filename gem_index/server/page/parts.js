// The parts of a text that count differently, such as a title before its text. The server counts characters (code points).

/** Return the parts of a document's text, `{text, end, weight}`: `end` is the space before the next part. A plain text is one part. */
export function partsOf({ text, weights }) {
  if (!weights) return [{ text, end: "", weight: null }];
  const characters = Array.from(text);
  let begin = 0;
  return weights.map(([length, weight]) => {
    const whole = characters.slice(begin, begin + length).join("");
    begin += length;
    const part = whole.trimEnd();
    return { text: part, end: whole.slice(part.length), weight };
  });
}

/** Return the text of some parts, and their lengths and weights if they have any; empty parts are left out. */
export function joined(parts) {
  const filled = parts.filter(({ text }) => text);
  const last = parts.at(-1).end;
  const whole = filled.map(({ text, end }, i) => text + (i < filled.length - 1 ? end : last));
  const weighted = filled.length > 0 && parts[0].weight !== null;
  return { text: whole.join(""), weights: weighted ? whole.map((part, i) => [Array.from(part).length, filled[i].weight]) : undefined };
}
