// The fields of a file, as far as its beginning shows them: they are offered, the server reads the file itself.

/** Return the names of the fields of JSON lines, CSV or TSV; none of another file. */
export function columnsOf(name, beginning) {
  const ending = name.toLowerCase().replace(/^.*\./s, "");
  const text = beginning.replace(/^\ufeff/, "");
  if (ending === "csv") return headOf(text, ",");
  if (ending === "tsv") return headOf(text, "\t");
  if (ending === "jsonl" || ending === "ndjson") return keysOf(text);
  return [];
}

function keysOf(text) {
  for (const line of text.split("\n")) {
    if (!line.trim()) continue;
    try {
      const value = JSON.parse(line);
      return value && typeof value === "object" ? Object.keys(value) : [];
    } catch {
      return []; // the server will say what is wrong
    }
  }
  return [];
}

/** Return the cells of the first row (RFC 4180: quotes around a cell, doubled inside it). */
function headOf(text, delimiter) {
  const cells = [];
  let cell = "";
  let quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const letter = text[i];
    if (quoted) {
      if (letter !== "\"") cell += letter;
      else if (text[i + 1] === "\"") {
        cell += letter;
        i += 1;
      } else quoted = false;
    } else if (letter === "\"" && !cell) quoted = true;
    else if (letter === delimiter) {
      cells.push(cell.trim());
      cell = "";
    } else if (letter === "\n") break;
    else cell += letter;
  }
  return [...cells, cell.trim()].filter(Boolean);
}
