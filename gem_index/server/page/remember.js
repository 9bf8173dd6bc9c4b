// Choices that this browser remembers: the colours, the language.

const NAME = "gem-index ";

/** Return what was remembered under a name, if it is one of some values; else null. */
export function recall(name, values) {
  try {
    const found = localStorage.getItem(NAME + name);
    return values.includes(found) ? found : null;
  } catch {
    return null; // storage is switched off
  }
}

/** Remember a value. */
export function remember(name, value) {
  try {
    localStorage.setItem(NAME + name, value);
  } catch { /* then it holds for this visit */ }
}
