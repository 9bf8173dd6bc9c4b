// Light, dark, or as the system says.

import { h } from "./dom.js";
import { recall, remember } from "./remember.js";
import { t } from "./words.js";

const NAME = "theme";

/** Return the switch. */
export function themeSwitch() {
  const theme = recall(NAME, ["light", "dark"]) ?? "auto";
  apply(theme);
  return h("fieldset", { class: "choices theme" }, h("legend", { class: "hidden" }, t("theme.legend")),
    ["auto", "light", "dark"].map((each) => {
      const input = h("input", { type: "radio", name: NAME, value: each, change: () => {
        apply(each);
        remember(NAME, each);
      } });
      input.checked = each === theme;
      return h("label", null, input, h("span", null, t(`theme.${each}`)));
    }));
}

function apply(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
