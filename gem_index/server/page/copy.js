// The button that copies a text.

import { announce, h } from "./dom.js";
import { t } from "./words.js";

/** Return a button that copies what `text` returns. */
export function copyButton(text) {
  const button = h("button", { type: "button", click: async () => {
    await copied(text(), button.closest("dialog") ?? document.body);
    announce(t("code.copied"));
    button.textContent = t("code.copied");
    setTimeout(() => { button.textContent = t("code.copy"); }, 1500);
  } }, t("code.copy"));
  return button;
}

/** Copy a text; `place` is where an element may take the selection: an open dialog keeps it from what lies outside. */
async function copied(text, place) {
  try {
    await navigator.clipboard.writeText(text); // not where the page came over plain HTTP from elsewhere
  } catch {
    const area = h("textarea", { value: text, "aria-hidden": "true", class: "hidden" });
    place.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
