// Long work of the server. It goes on while the reader looks at other views, and is shown again where it was begun.

import { h } from "./dom.js";
import { count, t } from "./words.js";

const STAGES = ["read", "store", "encode", "fit", "index", "name", "place", "push", "backup"]; // of all kinds of work
const jobs = new Map(); // by name

/** Return the work that was begun under a name and whose end nobody has seen, or undefined. */
export function jobOf(name) {
  return jobs.get(name);
}

/**
 * Begin some work. `run` is called with the job: `say` shows a text and a share, from 0 to 1 or null; `heard` an event of
 * the server; `actions` holds buttons.
 */
export function begin(name, label, run) {
  const bar = h("progress", { "aria-label": label });
  const stage = h("p", { class: "note" }, t("jobs.starting"));
  const actions = h("div", { class: "actions" });
  const job = { name, actions, element: h("div", null, bar, stage, actions), say, heard, ended: null };
  job.ended = run(job);
  job.ended.catch(() => {}); // told where the work is followed
  jobs.set(name, job);
  return job;

  function say(text, share) {
    stage.textContent = text;
    if (share === null) bar.removeAttribute("value");
    else bar.value = share;
  }

  function heard({ stage: what, done, total }) {
    const stage = STAGES.includes(what) ? t(`stages.${what}`) : what;
    say(total ? t("jobs.part", { stage, done, total }) : `${stage}: ${count(done)}`, total ? done / total : null);
  }
}

/** Return what some work returns. If the view is left before (`signal`), the next one sees its end, and this waits no longer. */
export async function followed(job, signal) {
  await Promise.race([job.ended.catch(() => {}), new Promise((leave) => { signal.addEventListener("abort", leave); })]);
  if (signal.aborted) throw new DOMException("", "AbortError");
  if (jobs.get(job.name) === job) jobs.delete(job.name);
  return job.ended;
}
