// The page: a document goes out, sentences come back beside it. All text is set as text, never as markup.

import { askModels, stream, translate } from "/static/service.js";
import { compare } from "/static/differences.js";
import { routingPanel } from "/static/routing.js";
import { download } from "/static/downloads.js";

const find = (id) => document.getElementById(id);
const page = {
  models: [], largest: 0, result: null, stop: null,
};

const node = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

const model = () => page.models.find((one) => one.name === find("model").value);
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

const complain = (fault) => {
  find("fault").textContent = fault ? fault.message : "";
  find("fault").hidden = !fault;
  if (fault?.status === 401) {
    find("door").hidden = false;
    find("token").focus();
  }
};

const say = (text) => {
  find("status").textContent = text;
  find("status").hidden = !text;
};

// What can be compared with: the same model seeing less (or more), and every other model.
const listRivals = () => {
  const own = model();
  const select = find("rival");
  const before = select.value;
  const options = [["", "nothing"]];
  if (own.history) options.push(["=", find("context").checked ? "itself without context" : "itself with context"]);
  for (const other of page.models) if (other !== own) options.push([`+${other.name}`, other.name]);
  select.replaceChildren(...options.map(([value, text]) => node("option", { value }, text)));
  const wanted = options.some(([value]) => value === before) && before !== "" ? before : options[1]?.[0] ?? "";
  select.value = page.result && before === "" ? "" : wanted;
};

const describeModel = () => {
  const own = model();
  find("languages").textContent = `${own.source_language} → ${own.target_language}`;
  find("view").textContent = own.history ? `(${plural(own.history, "earlier sentence")} in view)` : "(this model has none)";
  find("context").disabled = !own.history;
  find("example").hidden = own.source_language !== "en";
  listRivals();
};

const setup = async () => {
  const told = await askModels(find("token").value);
  [page.models, page.largest] = [told.models, told.largest_request];
  find("model").replaceChildren(...page.models.map((one) => node("option", { value: one.name }, one.name)));
  find("door").hidden = find("token").value === "";
  describeModel();
};

const orders = () => {
  const text = find("document").value;
  const document_ = find("lines").checked
    ? { sentences: text.replace(/\n+$/, "").split("\n") } : { text };
  const own = { ...document_, model: model().name, context: find("context").checked };
  const rival = find("rival").value;
  if (!rival) return [own];
  return [own, rival === "=" ? { ...own, context: !own.context } : { ...own, model: rival.slice(1), context: true }];
};

const called = (order) => {
  const history = page.models.find((one) => one.name === order.model).history;
  return `${order.model}${history && !order.context ? " without context" : ""}`;
};

const begin = (asked) => {
  const names = asked.map(called);
  page.result = { model: names[0], rival: names[1], itself: asked[1]?.model === asked[0].model, order: asked[0], rows: [], others: [], paragraphs: null };
  const heads = ["Source", ...names];
  find("head").replaceChildren(...heads.map((text) => node("th", { scope: "col" }, text)));
  find("rows").replaceChildren();
  say("Translating …");
  find("translation").hidden = false;
  find("hint").textContent = names.length > 1
    ? "Words that differ are marked. Choose a sentence to see which words of its history were used."
    : "Choose a sentence to see which words of its history were used.";
};

const fill = (cell, parts, side) => {
  cell.replaceChildren();
  for (const { word, differs } of parts) cell.append(differs ? node("mark", { class: side }, word) : word, " ");
};

const addRow = (place) => {
  const row = page.result.rows[place];
  const pick = node("button", { type: "button", class: "pick", "aria-expanded": "false" }, row.source || "(empty)");
  const source = node("td", { "data-label": "Source" }, node("span", { class: "number", "aria-hidden": "true" }, String(place + 1)), pick);
  const cells = [page.result.model, page.result.rival].filter(Boolean).map((name) => node(
    "td", { "data-label": name, lang: model().target_language }, node("span", { class: "text" }),
  ));
  const line = node("tr", { class: "sentence", "data-place": String(place) }, source, ...cells);
  source.setAttribute("lang", model().source_language);
  find("rows").append(line);
  showRow(place);
};

const showRow = (place) => {
  const row = page.result.rows[place];
  const line = find("rows").querySelector(`tr[data-place="${place}"]`);
  const [own, other] = line.querySelectorAll(".text");
  if (!row.other) {
    own.textContent = row.translation;
    return;
  }
  const [first, second] = compare(row.translation, row.other.translation);
  fill(own, first, "own");
  fill(other, second, "other");
  line.classList.toggle("differs", row.translation !== row.other.translation);
};

const summarise = () => {
  const { rows, rival, model: name } = page.result;
  const differing = rows.filter((row) => row.other && row.other.translation !== row.translation).length;
  const text = rival && page.result.itself
    ? `Context changes ${differing} of ${plural(rows.length, "sentence")}.`
    : rival ? `${differing} of ${plural(rows.length, "sentence")} ${differing === 1 ? "differs" : "differ"} between ${name} and ${rival}.`
    : `${plural(rows.length, "sentence")} translated by ${name}.`;
  say(text);
};

const progress = (done, total) => {
  Object.assign(find("progress"), { max: Math.max(total, 1), value: done });
};

const listen = async (order, side, signal) => {
  const { result } = page;
  for await (const { name, data } of stream(order, find("token").value, signal)) {
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

const work = (busy) => {
  find("go").textContent = busy ? "Stop" : "Translate";
  find("progress").hidden = !busy;
  find("translation").setAttribute("aria-busy", String(busy));
};

const run = async () => {
  page.stop?.abort();
  complain(null);
  if (!find("document").value.trim()) {
    complain(new Error("There is nothing to translate yet: write, paste or drop a text above."));
    return;
  }
  const stop = new AbortController();
  page.stop = stop;
  try {
    if (!page.models.length) await setup();
    const asked = orders();
    begin(asked);
    work(true);
    progress(0, 1);
    await Promise.all(asked.map((order, side) => listen(order, side, stop.signal)));
    summarise();
  } catch (fault) {
    stop.abort();
    if (page.stop !== stop) return; // another translation has begun
    const done = page.result?.rows.length ?? 0;
    const asked = fault.name === "AbortError";
    if (!asked) complain(fault);
    say(asked || done ? `Stopped after ${plural(done, "sentence")}.` : "");
    find("translation").hidden = !done;
  } finally {
    if (page.stop === stop) {
      page.stop = null;
      work(false);
    }
  }
};

const toggleDetail = async (line) => {
  const pick = line.querySelector(".pick");
  if (pick.getAttribute("aria-expanded") === "true") {
    line.nextElementSibling.remove();
    pick.setAttribute("aria-expanded", "false");
    return;
  }
  const { result } = page;
  const place = Number(line.dataset.place);
  const order = { model: result.order.model, context: result.order.context, routing: true };
  const history = page.models.find((one) => one.name === order.model).history;
  const sources = result.rows.map((row) => row.source);
  try {
    const answer = await translate(
      { ...order, sentences: [sources[place]], history: sources.slice(Math.max(0, place - history), place) }, find("token").value,
    );
    if (pick.getAttribute("aria-expanded") === "true") return;
    const cell = node("td", { colspan: String(line.cells.length) }, routingPanel(answer.translations[0].routing ?? []));
    line.after(node("tr", { class: "detail" }, cell));
    pick.setAttribute("aria-expanded", "true");
  } catch (fault) {
    complain(fault);
  }
};

const takeFile = async (file) => {
  if (!file) return;
  if (file.size > page.largest) {
    complain(new Error(`${file.name} is larger than this service takes (${page.largest} bytes): use docaps translate.`));
    return;
  }
  const text = await file.text();
  if (text.includes("\0")) {
    complain(new Error(`${file.name} is not a text file.`));
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

const again = () => { if (page.result) run(); };

find("order").addEventListener("submit", (event) => {
  event.preventDefault();
  if (page.stop) page.stop.abort();
  else run();
});
find("document").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
});
find("model").addEventListener("change", () => { describeModel(); again(); });
find("context").addEventListener("change", () => { listRivals(); again(); });
for (const id of ["rival", "lines"]) find(id).addEventListener("change", again);
find("example").addEventListener("click", showExample);
find("open").addEventListener("click", () => find("file").click());
find("file").addEventListener("change", () => takeFile(find("file").files[0]));
find("token").addEventListener("change", () => { page.models = []; setup().then(() => complain(null), complain); });
for (const type of ["dragover", "dragleave", "drop"]) {
  find("drop").addEventListener(type, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    find("drop").classList.toggle("over", type === "dragover");
    if (type === "drop") takeFile(event.dataTransfer.files[0]);
  });
}
find("rows").addEventListener("click", (event) => {
  const line = event.target.closest("tr.sentence");
  if (line && !String(getSelection())) toggleDetail(line);
});
for (const button of document.querySelectorAll("[data-download]")) {
  button.addEventListener("click", () => download(page.result, button.dataset.download));
}

setup().then(() => (model().source_language === "en" ? showExample() : null), complain);
