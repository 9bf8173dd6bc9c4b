// Light, dark, or as the system says.

import { h } from "./dom.js";

const NAME = "gem-index theme";

/** Return the switch. */
export function themeSwitch() {
  let theme = read();
  const apply = () => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  };
  apply();
  return h("fieldset", { class: "choices theme" }, h("legend", { class: "hidden" }, "Colours"),
    ["auto", "light", "dark"].map((each) => {
      const input = h("input", { type: "radio", name: "theme", value: each, change: () => {
        theme = each;
        apply();
        write(each);
      } });
      input.checked = each === theme;
      return h("label", null, input, h("span", null, each));
    }));
}

function read() {
  try {
    const found = localStorage.getItem(NAME);
    return ["light", "dark"].includes(found) ? found : "auto";
  } catch {
    return "auto"; // storage is switched off
  }
}

function write(theme) {
  try {
    localStorage.setItem(NAME, theme);
  } catch { /* then it holds for this visit */ }
}
