"use strict";

// Judgements by item id: {"verdict": "right" | "wrong", "remark": TEXT}.
const key = `docaps-audit-${document.body.dataset.key}`;
const items = [...document.querySelectorAll(".item")];
const judged = load();

function load() {
  try {
    return JSON.parse(localStorage.getItem(key)) || {};
  } catch {
    return {}; // a browser may forbid storage for files
  }
}

function save() {
  try {
    localStorage.setItem(key, JSON.stringify(judged));
  } catch {
    // the export still works
  }
}

function judge(item, values) {
  judged[item.dataset.id] = { ...judged[item.dataset.id], ...values };
  save();
  show(item);
  count();
}

function show(item) {
  const { verdict, remark } = judged[item.dataset.id] || {};
  item.classList.remove("right", "wrong");
  if (verdict) {
    item.classList.add(verdict);
    item.querySelector(`input[value="${verdict}"]`).checked = true;
  }
  const field = item.querySelector('input[type="text"]');
  if (remark !== undefined && field.value !== remark) field.value = remark;
}

function count() {
  const rows = new Map();
  for (const item of items) {
    const row = rows.get(item.dataset.phenomenon) || { items: 0, right: 0, wrong: 0 };
    const verdict = (judged[item.dataset.id] || {}).verdict;
    row.items += 1;
    if (verdict) row[verdict] += 1;
    rows.set(item.dataset.phenomenon, row);
  }
  const done = [...rows.values()].reduce((sum, row) => sum + row.right + row.wrong, 0);
  document.getElementById("count").textContent = `${done} of ${items.length} judged`;
  const body = document.querySelector("#table tbody");
  body.replaceChildren(...[...rows].map(([name, row]) => tableRow(name, row)));
}

function tableRow(name, row) {
  const all = row.right + row.wrong;
  const line = document.createElement("tr");
  for (const text of [name, row.items, row.right, row.wrong, all ? `${((100 * row.right) / all).toFixed(0)} %` : "-"]) {
    const cell = document.createElement("td");
    cell.textContent = text;
    line.append(cell);
  }
  return line;
}

function filter() {
  const wanted = document.getElementById("filter").value;
  const open = document.getElementById("open").checked;
  for (const item of items) {
    const verdict = (judged[item.dataset.id] || {}).verdict;
    item.hidden = (wanted && item.dataset.phenomenon !== wanted) || (open && Boolean(verdict));
  }
}

function download() {
  const values = items.map(({ dataset }) => ({
    id: dataset.id, phenomenon: dataset.phenomenon, verdict: null, remark: "", ...judged[dataset.id],
  }));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(values, null, 2) + "\n"], { type: "application/json" }));
  link.download = "audit.json";
  link.click();
  URL.revokeObjectURL(link.href);
}

for (const item of items) {
  show(item);
  item.addEventListener("change", ({ target }) => {
    if (target.type === "radio") judge(item, { verdict: target.value });
    else judge(item, { remark: target.value });
  });
  item.addEventListener("keydown", (event) => {
    const verdict = { r: "right", w: "wrong" }[event.key];
    if (verdict && event.target.type !== "text" && !event.ctrlKey && !event.metaKey) judge(item, { verdict });
  });
}
document.getElementById("filter").addEventListener("change", filter);
document.getElementById("open").addEventListener("change", filter);
document.getElementById("export").addEventListener("click", download);
count();
