// What only a key for everything may do: push a collection into a database of the server, and drop it.

import { api, collectionPath, events, explained } from "./api.js";
import { attempts } from "./attempts.js";
import { announce, field, fill, h, own, problemPlace } from "./dom.js";
import { begin, followed, jobOf } from "./jobs.js";
import { confirmed } from "./key.js";
import { go } from "./router.js";
import { t, tNodes } from "./words.js";

/** Return these sections; none if the key does not allow them. */
export function adminSections({ access, collection, refresh, signal }) {
  if (!["admin", "keys"].includes(access.permission)) return null;
  return [access.targets.length ? pushSection(access.targets, { collection, signal }) : null, dropSection({ collection, refresh })];
}

function pushSection(targets, { collection, signal }) {
  const job = `push ${collection}`;
  const target = h("select", { id: "target" }, targets.map((name) => h("option", { value: name }, name)));
  const full = h("input", { type: "checkbox" });
  const [problem, tell] = problemPlace();
  const work = h("div", null);
  const attempt = attempts((error) => {
    fill(work);
    tell(error);
  });
  const button = h("button", { type: "button", click: () => attempt(ask, button) }, t("push.push"));

  /** Say what would change, and push if the reader wants it. */
  async function ask() {
    const body = { target: target.value, full: full.checked };
    const path = collectionPath(collection, "push");
    fill(work, h("p", { class: "note" }, t("push.comparing")));
    const { added, updated, deleted } = await api("POST", path, { body: { ...body, dry_run: true }, signal });
    fill(work);
    const places = { collection: own(collection), target: own(body.target), added, updated, deleted };
    if (added + updated + deleted === 0) {
      fill(work, h("p", { class: "note" }, t("push.nothing", { target: body.target })));
      announce(work.textContent);
    } else if (await confirmed(tNodes(body.full ? "push.question_full" : "push.question", places), t("push.push"))) {
      await follow(begin(job, t("push.title"), ({ heard }) => events(path, body, heard)));
    }
    button.focus();
  }

  async function follow(begun) {
    fill(work, begun.element);
    const { added, updated, deleted, target: name } = await followed(begun, signal);
    fill(work, h("p", { class: "note" }, t("push.done", { added, updated, deleted, target: name })));
    announce(work.textContent);
  }

  if (jobOf(job)) attempt(() => follow(jobOf(job)), button);
  return h("section", null, h("h2", null, t("push.title")), h("p", { class: "help" }, t("push.help")),
    problem, field(t("push.target"), target), h("label", { class: "check" }, full, t("push.full")), h("div", { class: "actions" }, button), work);
}

function dropSection({ collection, refresh }) {
  const [problem, tell] = problemPlace();
  const button = h("button", { type: "button", class: "danger", click: async () => {
    if (button.ariaDisabled) return;
    button.ariaDisabled = "true";
    tell("");
    try {
      const { documents } = await api("GET", collectionPath(collection)); // as many as there are now
      if (!await confirmed(tNodes("drop.question", { collection: own(collection), count: documents }), t("drop.drop"))) {
        button.focus();
        return;
      }
      await api("DELETE", collectionPath(collection));
    } catch (error) {
      tell(explained(error));
      return;
    } finally {
      button.ariaDisabled = null;
    }
    await refresh();
    go({ collection: null, view: "search", params: {} }, { replace: true });
    announce(t("drop.dropped", { collection }));
    document.getElementById("main").focus();
  } }, t("drop.drop"));
  return h("section", null, h("h2", null, t("drop.title")), h("p", { class: "help" }, t("drop.help")), problem, h("div", { class: "actions" }, button));
}
