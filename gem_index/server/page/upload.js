// Add the documents of a file to a collection, or to a new one.

import { api, collectionPath, explained, upload } from "./api.js";
import { codePanel, command, python, pythonOf, shell } from "./code.js";
import { columnsOf } from "./columns.js";
import { announce, count, field, fill, h, own, problemPlace } from "./dom.js";
import { format, place, setParams } from "./router.js";

const ENDINGS = ".jsonl,.ndjson,.csv,.tsv,.txt,.md,.markdown,.html,.htm,.pdf,.docx,.pptx,.epub,.eml,.rst,.ipynb";
const PEEK = 1 << 18; // bytes of a file that its columns are looked for in
const STAGES = { read: "Reading", store: "Storing", encode: "Encoding", fit: "Fitting", index: "Indexing" };

let last = null; // what was added: the view is made again when its collection is new

/** Make the view; returns what brings it to the present place. */
export function uploadView(root, { collection, status, refresh }) {
  let file = null;
  let running = null;
  const input = h("input", { type: "file", id: "file", accept: ENDINGS, change: () => choose(input.files[0] ?? null) });
  const into = h("input", { type: "text", autocomplete: "off", spellcheck: "false", change: changed });
  const id = h("input", { type: "text", autocomplete: "off", spellcheck: "false", list: "columns", placeholder: "id", change: changed });
  const text = h("input", { type: "text", autocomplete: "off", spellcheck: "false", list: "columns", placeholder: "text", change: changed });
  const columns = h("datalist", { id: "columns" });
  const found = h("p", { class: "help", id: "found" });
  const drop = h("div", {
    class: "drop", dragover: (event) => { event.preventDefault(); drop.classList.add("over"); },
    dragleave: () => drop.classList.remove("over"), drop: dropped,
  }, field("File", input, "JSON lines, CSV, TSV, lines of text, Markdown, HTML, PDF, Word; or drop one here"));
  const [problem, tell] = problemPlace();
  const work = h("div", null);
  const start = h("button", { type: "submit", class: "primary" }, "Add");
  const code = codePanel(() => snippets(placed(), !place.params.into && status?.documents > 0));
  fill(root,
    h("form", { submit: (event) => { event.preventDefault(); send(); } },
      drop, found, columns,
      field("Into the collection", into, "One that does not exist is made, and fitted on these documents."),
      h("details", { class: "filters", id: "fields" }, h("summary", null, "Fields"),
        field("Field of the id", id, "By default id, else the file's name and the line."),
        field("Fields of the text, separated by commas", text, "By default text. Other fields become metadata.")),
      h("div", { class: "actions" }, start)),
    problem, work, code.panel);

  function changed() {
    setParams({ into: into.value.trim() === collection ? "" : into.value.trim(), id: id.value.trim(), text: text.value.trim() }, { replace: true });
  }

  function placed() {
    const { params } = place;
    return {
      name: params.into || collection || "",
      id: params.id || undefined,
      text: (params.text ?? "").split(",").map((each) => each.trim()).filter(Boolean),
      file: file?.name ?? "questions.jsonl",
    };
  }

  function dropped(event) {
    event.preventDefault();
    drop.classList.remove("over");
    if (event.dataTransfer.files.length) {
      input.files = event.dataTransfer.files;
      choose(input.files[0]);
    }
  }

  async function choose(chosen) {
    file = chosen;
    tell("");
    fill(columns);
    fill(found);
    code.refresh();
    if (file === null) return;
    const names = columnsOf(file.name, await file.slice(0, PEEK).text());
    if (file !== chosen || !names.length) return;
    fill(columns, names.map((name) => h("option", { value: name })));
    fill(found, "Its fields: ", names.slice(0, 30).map((name, i) => [i ? ", " : "", own(name)]), names.length > 30 ? " \u2026" : "");
    if (!names.includes("text")) root.querySelector("#fields").open = true;
  }

  function showLast() {
    fill(work, last === null ? null : h("p", { class: "result" }, last.said, " ",
      h("a", { href: format({ collection: last.name, view: "search", params: {} }) }, "Search ", own(last.name))));
  }

  async function send() {
    changed();
    last = null;
    showLast();
    const { name, id: idField, text: textFields } = placed();
    tell("");
    if (file === null || !name) {
      tell(file === null ? "Choose a file first." : "Name a collection first.");
      (file === null ? input : into).focus();
      return;
    }
    const bar = h("progress", { "aria-label": "Progress", max: 1 });
    const stage = h("p", { class: "note" }, "Sending\u2026");
    const stop = h("button", { type: "button", click: () => running?.abort() }, "Stop");
    start.disabled = true;
    running = new AbortController();
    try {
      const known = (await api("GET", "collections")).collections.some((each) => each.name === name);
      if (!known) await api("POST", "collections", { body: { name } });
      fill(work, bar, stage, h("div", { class: "actions" }, stop));
      const asked = new URLSearchParams({ file: file.name });
      if (idField) asked.set("id_field", idField);
      for (const each of textFields) asked.append("text_field", each);
      const report = await upload(`${collectionPath(name, "files")}?${asked}`, file, (share) => {
        bar.value = share;
        stage.textContent = share < 1 ? `Sending: ${Math.floor(100 * share)} %` : "Reading\u2026";
        if (share === 1) stop.remove(); // what the server has, it stores
      }, ({ stage: what, done, total }) => {
        if (total) {
          bar.max = total;
          bar.value = done;
        } else bar.removeAttribute("value");
        stage.textContent = `${STAGES[what] ?? what}: ${count(done)}${total ? ` of ${count(total)}` : ""}`;
      }, running.signal);
      const said = `${count(report.added)} added, ${count(report.updated)} updated, ${count(report.unchanged)} unchanged.`;
      last = { name, said };
      showLast();
      announce(said);
      await refresh();
    } catch (error) {
      fill(work);
      if (error.name === "AbortError") announce("Stopped; nothing was stored.");
      else tell(explained(error));
    } finally {
      running = null;
      start.disabled = false;
    }
  }

  showLast();
  return function update(params) {
    if (document.activeElement !== into) into.value = params.into || collection || "";
    id.value = params.id ?? "";
    text.value = params.text ?? "";
    if (params.id || params.text) root.querySelector("#fields").open = true;
    code.refresh();
  };
}

function snippets({ name, id, text, file }, filled) {
  const asked = new URLSearchParams({ file });
  if (id) asked.set("id_field", id);
  for (const each of text) asked.append("text_field", each);
  const url = new URL(`${collectionPath(name, "files")}?${asked}`, document.baseURI).href;
  const reader = [`[${python(file)}]`];
  if (id) reader.push(`id_field=${python(id)}`);
  if (text.length) reader.push(`text_fields=${python(text)}`);
  return {
    CLI: command(filled ? "add" : "build", [name, file], { "--id-field": id, "--text-field": text }),
    Python: pythonOf(name, [`collection.ingest(DocumentReader(${reader.join(", ")}))`])
      .replace("import Home", "import Home\nfrom gem_index.reading import DocumentReader"),
    curl: [`curl ${shell(url)}`, "  -H \"Authorization: Bearer $GEM_INDEX_KEY\"", `  --data-binary ${shell(`@${file}`)}`].join(" \\\n"),
  };
}
