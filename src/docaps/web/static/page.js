// The page: sends a document and shows its sentences beside their translations. Text is never inserted as markup.

import { fetchModels, stream, translate } from "/static/service.js";
import { compare } from "/static/differences.js";
import { routingPanel } from "/static/routing.js";
import { download } from "/static/downloads.js";

const find = (id) => document.getElementById(id);
const page = {
  models: [], maxBytes: 0, result: null, stop: null,
};

const node = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
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
  find("example").hidden = chosen.source_language !== "en";
  listComparisons();
};

const setup = async () => {
  const response = await fetchModels(find("token").value);
  [page.models, page.maxBytes] = [response.models, response.largest_request];
  find("model").replaceChildren(...page.models.map((one) => node("option", { value: one.name }, one.name)));
  find("login").hidden = find("token").value === "";
  describeModel();
};

const makeRequests = () => {
  const text = find("document").value;
  const document_ = find("lines").checked
    ? { sentences: text.replace(/\n+$/, "").split("\n") } : { text };
  const chosen = { ...document_, model: model().name, context: find("context").checked };
  const comparison = find("comparison").value;
  if (!comparison) return [chosen];
  return [chosen, comparison === "=" ? { ...chosen, context: !chosen.context } : { ...chosen, model: comparison.slice(1), context: true }];
};

const label = (request) => {
  const history = page.models.find((one) => one.name === request.model).history;
  return `${request.model}${history && !request.context ? " without context" : ""}`;
};

const startResult = (requests) => {
  const names = requests.map(label);
  page.result = { model: names[0], comparison: names[1], sameModel: requests[1]?.model === requests[0].model, request: requests[0], rows: [], others: [], paragraphs: null };
  const heads = ["Source", ...names];
  find("head").replaceChildren(...heads.map((text) => node("th", { scope: "col" }, text)));
  find("rows").replaceChildren();
  showStatus("Translating …");
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
    if (name === "done") result.paragraphs = data.paragraphs ?? null;
    else if (side === 0) {
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
  find("submit").textContent = busy ? "Stop" : "Translate";
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

const loadFile = async (file) => {
  if (!file) return;
  if (file.size > page.maxBytes) {
    showError(new Error(`${file.name} is too large: the limit of this service is ${page.maxBytes} bytes. Use docaps translate instead.`));
    return;
  }
  const text = await file.text();
  if (text.includes("\0")) {
    showError(new Error(`${file.name} is not a text file.`));
    return;
  }
  find("document").value = text;
  run();
};

const showExample = async () => {
  find("document").value = (await (await fetch("/static/example.txt")).text()).trim();
  find("lines").checked = false;
  await run();
};

const repeat = () => { if (page.result) run(); };

find("request").addEventListener("submit", (event) => {
  event.preventDefault();
  if (page.stop) page.stop.abort();
  else run();
});
find("document").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
});
find("model").addEventListener("change", () => { describeModel(); repeat(); });
find("context").addEventListener("change", () => { listComparisons(); repeat(); });
for (const id of ["comparison", "lines"]) find(id).addEventListener("change", repeat);
find("example").addEventListener("click", showExample);
find("open").addEventListener("click", () => find("file").click());
find("file").addEventListener("change", () => loadFile(find("file").files[0]));
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
