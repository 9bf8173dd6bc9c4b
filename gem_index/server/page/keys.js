// The keys of the server's clients: list, make and remove those that allow less than this one.

import { api, explained } from "./api.js";
import { attempts } from "./attempts.js";
import { announce, field, fill, h, own, problemPlace } from "./dom.js";
import { confirmed, showKey } from "./key.js";
import { dated, t, tNodes } from "./words.js";

const GIVEN = ["read", "write", "admin"]; // what a key may give

/** Return the section of the view. */
export function keySection(signal) {
  const [problem, tell] = problemPlace();
  const attempt = attempts(tell);
  const list = h("div", null);
  const name = h("input", { type: "text", id: "key-name", autocomplete: "off", spellcheck: "false", required: true });
  const allow = h("select", { id: "key-allow" }, GIVEN.map((each) => h("option", { value: each }, t(`keys.${each}`))));
  const making = h("button", { type: "submit" }, t("keys.make"));
  const form = h("form", { submit: (event) => {
    event.preventDefault();
    attempt(make, making);
  } }, field(t("keys.name"), name, t("keys.name_help")), field(t("keys.allow"), allow), h("div", { class: "actions" }, making));

  async function make() {
    const asked = { name: name.value.trim(), allow: allow.value };
    const question = tNodes(`keys.question_${asked.allow}`, { name: own(asked.name) });
    if (!await confirmed(question, t("keys.make"), { danger: asked.allow === "admin" })) {
      making.focus();
      return;
    }
    const made = await api("POST", "keys", { body: asked });
    await showKey(made.name, made.key);
    name.value = "";
    name.focus();
    await show();
  }

  async function show() {
    const { keys, yours } = await api("GET", "keys", { signal });
    fill(list, h("ul", { class: "rows", "aria-label": t("keys.title") }, keys.map((key) => row(key, yours))));
  }

  function row(key, yours) {
    const label = t("keys.remove");
    const button = h("button", { type: "button", "aria-label": `${label} ${key.name}`, click: () => attempt(() => remove(key), button) }, label);
    const facts = [
      h("strong", null, own(key.name)),
      h("span", null, t(`keys.${GIVEN.includes(key.allow) ? key.allow : "keys"}`)),
      h("span", { class: "note" }, t("keys.made", { time: dated(key.created_at) }), key.made_by === null ? null : [", ", tNodes("keys.made_by", { name: own(key.made_by) })]),
      key.name === yours ? h("span", { class: "note" }, t("keys.yours")) : null,
    ];
    return h("li", null, h("div", null, facts), GIVEN.includes(key.allow) ? button : null);
  }

  async function remove(key) {
    if (!await confirmed(tNodes("keys.question_remove", { name: own(key.name) }), t("keys.remove"))) return;
    await api("DELETE", `keys/${encodeURIComponent(key.name)}`);
    await show();
    name.focus();
    announce(t("keys.removed", { name: key.name }));
  }

  show().catch((error) => tell(explained(error)));
  return h("section", null, h("h2", null, t("keys.title")), h("p", { class: "help" }, t("keys.help")), problem, form, list);
}
