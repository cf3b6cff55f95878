// The page: sends a document and shows its sentences beside their translations. Text is never inserted as markup.

import { fetchModels, stream, translate } from "/static/service.js";
import { compare } from "/static/differences.js";
import { routingPanel } from "/static/routing.js";
import { download } from "/static/downloads.js";
import { fileOptions, stopFile, translateFile } from "/static/files.js";
import { find, node } from "/static/nodes.js";

const page = {
  models: [], maxBytes: 0, maxFileBytes: 0, result: null, stop: null,
};

const model = () => page.models.find((one) => one.name === find("model").value);
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

const showError = (error) => {
  find("error").textContent = error ? error.message : "";
  find("error").hidden = !error;
  if (error?.status === 401) {
    find("login").hidden = false;
    find("token").focus();
  }
};

const showStatus = (text) => {
  find("status").textContent = text;
  find("status").hidden = !text;
};

const missingTerms = (rows) => {
  const missing = rows.flatMap((row) => row?.terms ?? []).filter((term) => term.state === "missing");
  return [...new Set(missing.map((term) => `${term.source} = ${term.target}`))];
};

// What the service says of a document that is far from what a model knows, and of terms that a model cannot write.
const showWarning = (result) => {
  const texts = [];
  for (const [side, rows] of result ? [result.rows, result.others].entries() : []) {
    const name = side ? result.comparison : result.model;
    const missing = missingTerms(rows);
    if (result.warnings[side]) texts.push(`${name}: ${result.warnings[side]}. The translation may make no sense.`);
    if (missing.length) texts.push(`${name}: terms that could not be written: ${missing.join(", ")}.`);
  }
  find("warning").textContent = texts.join(" ");
  find("warning").hidden = !texts.length;
};

// List what a translation can be compared with: the same model with or without context, and the other models.
const listComparisons = () => {
  const chosen = model();
  const select = find("comparison");
  const before = select.value;
  const options = [["", "nothing"]];
  if (chosen.history) options.push(["=", find("context").checked ? "itself without context" : "itself with context"]);
  for (const other of page.models) if (other !== chosen) options.push([`+${other.name}`, other.name]);
  select.replaceChildren(...options.map(([value, text]) => node("option", { value }, text)));
  const selected = options.some(([value]) => value === before) && before !== "" ? before : options[1]?.[0] ?? "";
  select.value = page.result && before === "" ? "" : selected;
};

const describeModel = () => {
  const chosen = model();
  find("languages").textContent = `${chosen.source_language} → ${chosen.target_language}`;
  find("context-size").textContent = chosen.history ? `(${plural(chosen.history, "earlier sentence")})` : "(not used by this model)";
  find("context").disabled = !chosen.history;
  find("formality-field").hidden = !chosen.formality;
  find("example").hidden = chosen.source_language !== "en";
  listComparisons();
};

const setup = async () => {
  const response = await fetchModels(find("token").value);
  [page.models, page.maxBytes, page.maxFileBytes] = [response.models, response.largest_request, response.largest_file];
  find("model").replaceChildren(...page.models.map((one) => node("option", { value: one.name }, one.name)));
  find("login").hidden = find("token").value === "";
  describeModel();
};

// Pairs of forms, from lines such as `spring | springs = Feder | Federn`.
const readGlossary = () => find("glossary").value.split("\n").flatMap((line, index) => {
  if (!line.trim()) return [];
  const sides = line.split("=").map((side) => side.split("|").map((form) => form.trim()));
  if (sides.length !== 2) throw new Error(`Glossary, line ${index + 1}: expected a term, = and its translation.`);
  return [sides];
});

// The same as the text of a glossary file, in which a backslash or # is no mark.
const glossaryText = () => readGlossary().map(
  (sides) => sides.map((forms) => forms.map((form) => form.replace(/[\\#\t]/g, (mark) => (mark === "\t" ? " " : `\\${mark}`))).join("|")).join("\t"),
).join("\n");

const withFormality = (request) => {
  const formality = find("formality").value;
  const chooses = page.models.find((one) => one.name === request.model).formality;
  return formality && chooses ? { ...request, formality } : request;
};

const makeRequests = () => {
  const text = find("document").value;
  const document_ = find("lines").checked
    ? { sentences: text.replace(/\n+$/, "").split("\n") } : { text };
  const glossary = readGlossary();
  const chosen = { ...document_, ...(glossary.length ? { glossary } : {}), model: model().name, context: find("context").checked };
  const comparison = find("comparison").value;
  if (!comparison) return [withFormality(chosen)];
  const other = comparison === "=" ? { ...chosen, context: !chosen.context } : { ...chosen, model: comparison.slice(1), context: true };
  return [chosen, other].map(withFormality);
};

const label = (request) => {
  const history = page.models.find((one) => one.name === request.model).history;
  return `${request.model}${history && !request.context ? " without context" : ""}`;
};

const startResult = (requests) => {
  const names = requests.map(label);
  page.result = { model: names[0], comparison: names[1], sameModel: requests[1]?.model === requests[0].model, request: requests[0], rows: [], others: [], paragraphs: null, warnings: [] };
  const heads = ["Source", ...names];
  find("head").replaceChildren(...heads.map((text) => node("th", { scope: "col" }, text)));
  find("rows").replaceChildren();
  showStatus("Translating …");
  showWarning(null);
  find("translation").hidden = false;
  find("hint").textContent = names.length > 1
    ? "Different words are highlighted. Select a sentence to see which words of its history the model used."
    : "Select a sentence to see which words of its history the model used.";
};

const fillCell = (cell, parts, side) => {
  cell.replaceChildren();
  for (const { word, differs } of parts) cell.append(differs ? node("mark", { class: side }, word) : word, " ");
};

const addRow = (index) => {
  const row = page.result.rows[index];
  const toggle = node("button", { type: "button", class: "toggle", "aria-expanded": "false" }, row.source || "(empty)");
  const source = node("td", { "data-label": "Source" }, node("span", { class: "number", "aria-hidden": "true" }, String(index + 1)), toggle);
  const cells = [page.result.model, page.result.comparison].filter(Boolean).map((name) => node(
    "td", { "data-label": name, lang: model().target_language }, node("span", { class: "text" }),
  ));
  const line = node("tr", { class: "sentence", "data-index": String(index) }, source, ...cells);
  source.setAttribute("lang", model().source_language);
  find("rows").append(line);
  showRow(index);
};

const showRow = (index) => {
  const row = page.result.rows[index];
  const line = find("rows").querySelector(`tr[data-index="${index}"]`);
  const [chosen, other] = line.querySelectorAll(".text");
  if (!row.other) {
    chosen.textContent = row.translation;
    return;
  }
  const [first, second] = compare(row.translation, row.other.translation);
  fillCell(chosen, first, "chosen");
  fillCell(other, second, "other");
  line.classList.toggle("differs", row.translation !== row.other.translation);
};

const showSummary = () => {
  const { rows, comparison, model: name } = page.result;
  const differing = rows.filter((row) => row.other && row.other.translation !== row.translation).length;
  const text = comparison && page.result.sameModel
    ? `Context changes ${differing} of ${plural(rows.length, "sentence")}.`
    : comparison ? `${differing} of ${plural(rows.length, "sentence")} ${differing === 1 ? "differs" : "differ"} between ${name} and ${comparison}.`
    : `${plural(rows.length, "sentence")} translated by ${name}.`;
  showStatus(text);
};

const progress = (done, total) => {
  Object.assign(find("progress"), { max: Math.max(total, 1), value: done });
};

const receive = async (request, side, signal) => {
  const { result } = page;
  for await (const { name, data } of stream(request, find("token").value, signal)) {
    if (result !== page.result) return;
    if (name === "done") {
      result.paragraphs = data.paragraphs ?? null;
      result.warnings[side] = data.warning;
      showWarning(result);
    } else if (side === 0) {
      result.rows[data.index] = { ...data, other: result.others[data.index] };
      addRow(data.index);
      progress(data.index + 1, data.total);
    } else {
      result.others[data.index] = data;
      if (result.rows[data.index]) {
        result.rows[data.index].other = data;
        showRow(data.index);
      }
    }
  }
};

const setBusy = (busy) => {
  if (!busy && document.activeElement === find("stop")) find("submit").focus();
  find("stop").hidden = !busy;
  find("progress").hidden = !busy;
  find("translation").setAttribute("aria-busy", String(busy));
};

const run = async () => {
  page.stop?.abort();
  showError(null);
  if (!find("document").value.trim()) {
    showError(new Error("There is nothing to translate: type, paste or drop text above."));
    return;
  }
  const stop = new AbortController();
  page.stop = stop;
  try {
    if (!page.models.length) await setup();
    const requests = makeRequests();
    startResult(requests);
    setBusy(true);
    progress(0, 1);
    await Promise.all(requests.map((request, side) => receive(request, side, stop.signal)));
    showSummary();
  } catch (error) {
    stop.abort();
    if (page.stop !== stop) return; // another translation has started
    const done = page.result?.rows.length ?? 0;
    const stopped = error.name === "AbortError";
    if (!stopped) showError(error);
    showStatus(stopped || done ? `Stopped after ${plural(done, "sentence")}.` : "");
    find("translation").hidden = !done;
  } finally {
    if (page.stop === stop) {
      page.stop = null;
      setBusy(false);
    }
  }
};

const toggleDetail = async (line) => {
  const toggle = line.querySelector(".toggle");
  if (toggle.getAttribute("aria-expanded") === "true") {
    line.nextElementSibling.remove();
    toggle.setAttribute("aria-expanded", "false");
    return;
  }
  const { result } = page;
  const index = Number(line.dataset.index);
  const request = { model: result.request.model, context: result.request.context, routing: true };
  const history = page.models.find((one) => one.name === request.model).history;
  const sources = result.rows.map((row) => row.source);
  try {
    const answer = await translate(
      { ...request, sentences: [sources[index]], history: sources.slice(Math.max(0, index - history), index) }, find("token").value,
    );
    if (toggle.getAttribute("aria-expanded") === "true") return;
    const cell = node("td", { colspan: String(line.cells.length) }, routingPanel(answer.translations[0].routing ?? []));
    line.after(node("tr", { class: "detail" }, cell));
    toggle.setAttribute("aria-expanded", "true");
  } catch (error) {
    showError(error);
  }
};

// Put a small plain text into the page; send any other file to the service, which knows its format.
const loadFile = async (file) => {
  if (!file) return;
  const isPlain = /^[^.]*$|\.(txt|text)$/i.test(file.name) && file.size <= page.maxBytes;
  const text = isPlain ? await file.text() : "\0";
  if (!text.includes("\0")) {
    find("document").value = text;
    run();
    return;
  }
  showError(null);
  if (file.size > page.maxFileBytes) {
    showError(new Error(`${file.name} is too large: the limit of this service is ${page.maxFileBytes} bytes. Use docaps translate instead.`));
    return;
  }
  try {
    const glossary = glossaryText();
    const options = withFormality({ model: model().name, context: find("context").checked, ...(glossary ? { glossary } : {}), ...fileOptions() });
    await translateFile(file, options, find("token").value);
  } catch (error) {
    showError(error);
  }
};

const showExample = async () => {
  find("document").value = (await (await fetch("/static/example.txt")).text()).trim();
  find("lines").checked = false;
  await run();
};

const repeat = () => { if (page.result) run(); };

find("request").addEventListener("submit", (event) => {
  event.preventDefault();
  run();
});
find("stop").addEventListener("click", () => page.stop?.abort());
find("document").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
});
find("model").addEventListener("change", () => { describeModel(); repeat(); });
find("context").addEventListener("change", () => { listComparisons(); repeat(); });
for (const id of ["comparison", "lines", "formality", "glossary"]) find(id).addEventListener("change", repeat);
find("example").addEventListener("click", showExample);
find("open").addEventListener("click", () => find("chooser").click());
find("chooser").addEventListener("change", () => {
  loadFile(find("chooser").files[0]);
  find("chooser").value = ""; // the same file may be chosen again
});
find("file-stop").addEventListener("click", stopFile);
find("token").addEventListener("change", () => { page.models = []; setup().then(() => showError(null), showError); });
for (const type of ["dragover", "dragleave", "drop"]) {
  find("drop").addEventListener(type, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    find("drop").classList.toggle("over", type === "dragover");
    if (type === "drop") loadFile(event.dataTransfer.files[0]);
  });
}
find("rows").addEventListener("click", (event) => {
  const line = event.target.closest("tr.sentence");
  if (line && !String(getSelection())) toggleDetail(line);
});
for (const button of document.querySelectorAll("[data-download]")) {
  button.addEventListener("click", () => download(page.result, button.dataset.download));
}

setup().then(() => (model().source_language === "en" ? showExample() : null), showError);
