// The dialog that asks for a key.

import { copyButton } from "./copy.js";
import { h, own, problemPlace } from "./dom.js";
import { t, tNodes } from "./words.js";

/** Ask for a key; null if the reader gives none. */
export function askForKey(refused) {
  return new Promise((resolve) => {
    const [place, tell] = problemPlace();
    const input = h("input", { type: "password", id: "key", autocomplete: "off", spellcheck: "false", required: true });
    const form = h("form", { method: "dialog" },
      h("h2", { id: "key-title" }, t("key.title")),
      h("p", null, t("key.kept")),
      h("label", { for: "key" }, t("key.label")), input, place,
      h("div", { class: "actions" },
        h("button", { type: "submit", class: "primary" }, t("key.continue")),
        h("button", { type: "button", click: () => dialog.close() }, t("key.without"))));
    const dialog = h("dialog", { "aria-labelledby": "key-title" }, form);
    let given = null;
    form.addEventListener("submit", (event) => {
      event.preventDefault(); // a form may not be sent: this is script alone
      given = input.value.trim() || null;
      dialog.close();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(given);
    });
    document.getElementById("dialogs").append(dialog);
    dialog.showModal();
    if (refused) tell(t("key.refused"));
    input.focus();
  });
}

/** Show a new key, once. */
export function showKey(name, key) {
  return new Promise((resolve) => {
    const input = h("textarea", { id: "new-key", rows: 2, readonly: true, value: key, "aria-labelledby": "new-key-title", "aria-describedby": "new-key-once" });
    const dialog = h("dialog", { "aria-labelledby": "new-key-title", closedby: "none" }, // a slip of the Escape key would lose it
      h("h2", { id: "new-key-title" }, tNodes("keys.new", { name: own(name) })),
      h("p", { id: "new-key-once" }, t("keys.once")),
      input,
      h("div", { class: "actions" }, copyButton(() => key), h("button", { type: "button", click: () => dialog.close() }, t("keys.close"))));
    dialog.addEventListener("cancel", (event) => event.preventDefault()); // in browsers that do not know closedby
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve();
    });
    document.getElementById("dialogs").append(dialog);
    dialog.showModal();
    input.select();
  });
}

/** Ask a question that is answered by yes or no; `danger` marks a yes that destroys something or gives much. */
export function confirmed(question, yes, { danger = true } = {}) {
  return new Promise((resolve) => {
    let answer = false;
    const dialog = h("dialog", { "aria-labelledby": "question" },
      h("p", { id: "question" }, question),
      h("div", { class: "actions" },
        h("button", { type: "button", class: danger ? "danger" : null, click: () => { answer = true; dialog.close(); } }, yes),
        h("button", { type: "button", autofocus: true, click: () => dialog.close() }, t("key.cancel"))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    document.getElementById("dialogs").append(dialog);
    dialog.showModal();
  });
}
