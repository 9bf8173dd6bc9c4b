// Backups: made in the folder that the server was started with, and listed.

import { api, events, explained } from "./api.js";
import { attempts } from "./attempts.js";
import { announce, fill, h, own, problemPlace } from "./dom.js";
import { begin, followed, jobOf } from "./jobs.js";
import { confirmed } from "./key.js";
import { count, dated, t } from "./words.js";

const JOB = "backup";
const MEGABYTE = 1e6;

/** Return the section of the view. */
export function backupSection(signal) {
  const [problem, tell] = problemPlace();
  const work = h("div", null);
  const list = h("div", null);
  const attempt = attempts((error) => {
    fill(work);
    tell(error);
  });
  const button = h("button", { type: "button", click: () => attempt(ask, button) }, t("backups.make"));

  async function ask() {
    if (await confirmed(t("backups.question"), t("backups.make"), { danger: false })) {
      await follow(begin(JOB, t("backups.make"), ({ heard }) => events("backup", undefined, heard)));
    }
    button.focus();
  }

  async function follow(begun) {
    fill(work, begun.element);
    const { name } = await followed(begun, signal);
    fill(work, h("p", { class: "note" }, t("backups.done", { name })));
    announce(work.textContent);
    await show();
  }

  async function show() {
    const { backups } = await api("GET", "backups", { signal });
    fill(list, backups.length ? h("ul", { class: "rows", "aria-label": t("backups.title") }, backups.map((backup) =>
      h("li", null, h("div", null, h("strong", null, own(backup.name)), h("span", null, dated(backup.created_at)),
        h("span", { class: "note" }, count(Math.ceil(backup.bytes / MEGABYTE), "megabyte")))))) : h("p", { class: "note" }, t("backups.none")));
  }

  show().catch((error) => tell(explained(error)));
  if (jobOf(JOB)) attempt(() => follow(jobOf(JOB)), button);
  return h("section", null, h("h2", null, t("backups.title")), h("p", { class: "help" }, t("backups.help")), problem, work,
    h("div", { class: "actions" }, button), list);
}
