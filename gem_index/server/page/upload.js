// Add the documents of a file to a collection, or to a new one.

import { api, collectionPath, explained, upload } from "./api.js";
import { codePanel, command, curl, request, python, shell } from "./code.js";
import { columnsOf } from "./columns.js";
import { announce, field, fill, h, own, problemPlace } from "./dom.js";
import { begin, followed, jobOf } from "./jobs.js";
import { format, place } from "./router.js";
import { count, t, tNodes } from "./words.js";

const ENDINGS = ".jsonl,.ndjson,.json,.csv,.tsv,.txt,.md,.markdown,.html,.htm,.pdf,.docx,.pptx,.epub,.eml,.rst,.ipynb";
const PEEK = 1 << 18; // bytes of a file that its columns are looked for in
const MOST_INSPECTED = 1 << 25; // bytes of a file whose fields the server is asked for before it is added
const RECORDS = /\.(jsonl|ndjson|json|csv|tsv)$/i;
const JOB = "add";

let last = null; // what was added: the view is made again when its collection is new

/** Make the view; returns what brings it to the present place. */
export function uploadView(root, { collection, statusOf, refresh, signal, setParams }) {
  let file = null;
  let inspected = null; // what the server says of the file's fields
  const input = h("input", { type: "file", id: "file", accept: ENDINGS, change: () => choose(input.files[0] ?? null) });
  const into = h("input", { type: "text", autocomplete: "off", spellcheck: "false", change: changed });
  const id = h("input", { type: "text", autocomplete: "off", spellcheck: "false", list: "columns", placeholder: "id", change: changed });
  const text = h("input", { type: "text", autocomplete: "off", spellcheck: "false", list: "columns", placeholder: "text", change: changed });
  const encoding = h("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: "utf-8", change: changed });
  const columns = h("datalist", { id: "columns" });
  const found = h("p", { class: "help", id: "found" });
  const table = h("div", null);
  const drop = h("div", {
    class: "drop", dragover: (event) => { event.preventDefault(); drop.classList.add("over"); },
    dragleave: () => drop.classList.remove("over"), drop: dropped,
  }, field(t("upload.file"), input, t("upload.kinds")));
  const [problem, tell] = problemPlace();
  const work = h("div", null);
  const start = h("button", { type: "submit", class: "primary" }, t("views.upload"));
  const code = codePanel(() => snippets(placed(), statusOf(placed().name)));
  fill(root,
    h("form", { submit: (event) => { event.preventDefault(); send(); } },
      drop, found, table, columns,
      field(t("upload.into"), into, t("upload.into_help")),
      h("details", { class: "filters", id: "fields" }, h("summary", null, t("upload.fields")),
        field(t("upload.id"), id, t("upload.id_help")),
        field(t("upload.text"), text, t("upload.text_help")),
        field(t("upload.encoding"), encoding, t("upload.encoding_help"))),
      h("div", { class: "actions" }, start)),
    problem, work, code.panel);

  function changed() {
    setParams({ into: into.value.trim() === collection ? "" : into.value.trim(), id: id.value.trim(), text: text.value.trim(), enc: encoding.value.trim() }, { replace: true });
  }

  function placed() {
    const { params } = place;
    return {
      name: params.into || collection || "",
      id: params.id || undefined,
      encoding: params.enc || undefined,
      text: textsOf(params.text ?? ""),
      file: file?.name ?? "questions.jsonl",
    };
  }

  function dropped(event) {
    event.preventDefault();
    drop.classList.remove("over");
    const { files } = event.dataTransfer;
    if (files.length === 1) {
      input.files = files;
      choose(files[0]);
    } else if (files.length) tell(t("upload.several", { count: files.length }));
  }

  async function choose(chosen) {
    file = chosen;
    tell("");
    fill(columns);
    fill(found);
    fill(table);
    inspected = null;
    code.refresh();
    if (file === null) return;
    if (RECORDS.test(file.name) && file.size <= MOST_INSPECTED) inspect(file);
    const names = columnsOf(file.name, await file.slice(0, PEEK).text().catch(() => ""));
    if (file !== chosen || !names.length) return;
    fill(columns, names.map((name) => h("option", { value: name })));
    fill(found, t("upload.its_fields"), " ", names.slice(0, 30).map((name, i) => [i ? ", " : "", own(name)]), names.length > 30 ? " \u2026" : "");
    if (!names.includes("text") && inspected === null) root.querySelector("#fields").open = true;
  }

  /** Ask the server which fields a file has, as the command inspect does, and choose those that plainly are id and text. */
  async function inspect(chosen) {
    const asked = new URLSearchParams({ file: chosen.name });
    if (place.params.enc) asked.set("encoding", place.params.enc);
    try {
      const answer = await api("POST", `inspect?${asked}`, { body: chosen, type: "application/octet-stream", signal });
      if (file !== chosen) return;
      inspected = answer;
      const names = answer.fields.map((each) => each.name);
      if (untouched(text) && !names.includes("text")) text.value = answer.text_fields.join(", ");
      if (untouched(id) && !names.includes("id")) id.value = answer.id_field ?? "";
      changed();
      showFields();
    } catch (error) {
      if (file === chosen && error.name !== "AbortError") fill(table, h("p", { class: "help" }, own(explained(error))));
    }
  }

  function showFields() {
    if (inspected === null) return;
    const texts = textsOf(text.value);
    const isText = (name) => (texts.length ? texts.some((each) => bare(each) === name) : name === "text");
    const focused = document.activeElement?.dataset?.field;
    const choice = (attributes, name, checked) => {
      const input = h("input", { ...attributes, "data-field": `${attributes.type} ${name}` });
      input.checked = checked;
      return input;
    };
    const chooseText = (name) => {
      const before = texts.length || !inspected.fields.some((each) => each.name === "text") ? texts : ["text"];
      text.value = (isText(name) ? before.filter((each) => bare(each) !== name) : [...before, name]).join(", ");
      changed();
    };
    fill(table, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": t("upload.fields_of_file") }, h("table", { class: "fields" },
      h("caption", null, t(inspected.complete ? "upload.records" : "upload.records_read", { count: inspected.records })),
      h("thead", null, h("tr", null, ["field", "text", "id", "type", "examples"].map((name) => h("th", { scope: "col" }, t(`columns.${name}`))))),
      h("tbody", null, inspected.fields.map(({ name, type, samples }) => h("tr", null,
        h("th", { scope: "row" }, own(name)),
        h("td", null, choice({ type: "checkbox", "aria-label": t("upload.is_text", { name }), change: () => chooseText(name) }, name, isText(name))),
        h("td", null, choice({ type: "radio", name: "id-field", "aria-label": t("upload.is_id", { name }), change: () => { id.value = name; changed(); } }, name, (id.value || "id") === name)),
        h("td", null, type.split(", ").map((kind) => t(`kinds.${kind}`)).join(", ")),
        h("td", { class: "example" }, own(samples.slice(0, 2).join(" \u00b7 ")))))))));
    if (focused) table.querySelector(`[data-field="${CSS.escape(focused)}"]`)?.focus();
  }

  function showLast() {
    fill(work, last === null ? null : h("p", { class: "result" }, last.said, " ",
      h("a", { href: format({ collection: last.name, view: "search", params: {} }) }, tNodes("upload.search", { name: own(last.name) }))));
  }

  async function send() {
    changed();
    if (start.ariaDisabled) return;
    last = null;
    showLast();
    const asked = placed();
    const { name } = asked;
    tell("");
    if (file === null || !name) {
      tell(t(file === null ? "upload.no_file" : "upload.no_name"));
      (file === null ? input : into).focus();
      return;
    }
    try {
      await file.slice(0, 1).arrayBuffer();
    } catch { // a browser sends the file that was chosen, or nothing
      input.value = "";
      await choose(null);
      tell(t("upload.changed", { file: asked.file }));
      input.focus();
      return;
    }
    const sent = file;
    follow(begin(JOB, t("upload.progress"), (job) => add(asked, sent, job, refresh)));
  }

  async function follow(job) {
    start.ariaDisabled = "true";
    fill(work, job.element);
    try {
      await followed(job, signal);
      showLast();
      announce(last.said);
    } catch (error) {
      if (signal.aborted) return;
      fill(work);
      if (error.name === "AbortError") announce(t("upload.stopped"));
      tell(explained(error));
    }
    start.ariaDisabled = null;
    if (document.activeElement === document.body) start.focus();
  }

  showLast();
  if (jobOf(JOB)) follow(jobOf(JOB));
  return function update(params) {
    if (document.activeElement !== into) into.value = params.into || collection || "";
    id.value = params.id ?? "";
    text.value = params.text ?? "";
    encoding.value = params.enc ?? "";
    showFields();
    if (params.id || params.text || params.enc) root.querySelector("#fields").open = true;
    code.refresh();
  };
}

/** Send a file and return what the server says of it; a collection that is not there is made. */
async function add(asked, file, { say, heard, actions }, refresh) {
  const { name } = asked;
  const stopping = new AbortController();
  const stop = h("button", { type: "button", click: () => stopping.abort() }, t("upload.stop"));
  say(t("upload.sending"), 0);
  actions.append(stop);
  try {
    const known = (await api("GET", "collections")).collections.some((each) => each.name === name);
    stopping.signal.throwIfAborted(); // Stop may be pressed before the file is sent
    if (!known) await api("POST", "collections", { body: { name } });
    stopping.signal.throwIfAborted();
    const report = await upload(pathOf(asked), file, (share) => {
      say(share < 1 ? t("upload.sent", { percent: Math.floor(100 * share) }) : t("upload.reading"), share < 1 ? share : null);
      if (share === 1) stop.remove(); // what the server has, it stores
    }, heard, stopping.signal);
    last = { name, said: t("upload.done", { added: report.added, updated: report.updated, unchanged: report.unchanged }) };
  } finally {
    await refresh();
  }
}

function textsOf(names) {
  return names.split(",").map((each) => each.trim()).filter(Boolean);
}

/** Return the name of a field that counts more than once, such as subject*2. */
function bare(name) {
  return name.replace(/\*\d+(\.\d+)?$/, "");
}

function pathOf({ name, id, text, encoding, file }) {
  const asked = new URLSearchParams({ file });
  if (id) asked.set("id_field", id);
  for (const each of text) asked.append("text_field", each);
  if (encoding) asked.set("encoding", encoding);
  return `${collectionPath(name, "files")}?${asked}`;
}

function snippets(asked, known) {
  const filled = known?.documents > 0;
  const { name, id, text, encoding, file } = asked;
  const reader = [`[${python(file)}]`];
  if (id) reader.push(`id_field=${python(id)}`);
  if (text.length) reader.push(`text_fields=${python(text)}`);
  if (encoding) reader.push(`encoding=${python(encoding)}`);
  const documents = `DocumentReader(${reader.join(", ")})`;
  const options = { "--id-field": id, "--text-field": text, "--encoding": encoding };
  const url = new URL(pathOf(asked), document.baseURI).href;
  const sending = [`curl ${shell(url)}`, "  -H \"Authorization: Bearer $GEM_INDEX_KEY\"", "  -H \"Content-Type: application/octet-stream\"", `  --data-binary ${shell(`@${file}`)}`].join(" \\\n");
  const imports = "from gem_index import Home\nfrom gem_index.readers import DocumentReader\n";
  return {
    CLI: command(filled ? "add" : "build", [name, file], options),
    Python: filled ? `${imports}\ncollection = Home().collection(${python(name)})\ncollection.upsert(${documents})`
      : `${imports}\nHome().build(${python(name)}, ${documents})`,
    curl: known ? sending : `${curl(request("collections", { name }))}\n${sending}`,
  };
}

/** Tell whether nobody has written or begins to write in a field. */
function untouched(input) {
  return !input.value && document.activeElement !== input;
}
