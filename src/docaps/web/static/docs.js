// The API browser: shows the OpenAPI document of this service, and sends requests that the user writes.

import { find, node } from "/static/nodes.js";

const JSON_TYPE = "application/json";
const state = { document: null };

const resolve = (schema) => {
  if (!schema?.$ref) return schema ?? {};
  return schema.$ref.split("/").slice(1).reduce((found, key) => found[key], state.document);
};

const typeOf = (schema) => {
  const found = resolve(schema);
  if (found.enum) return found.enum.map((one) => JSON.stringify(one)).join(" or ");
  if (found.const !== undefined) return JSON.stringify(found.const);
  const options = found.anyOf ?? found.oneOf;
  if (options) return [...new Set(options.map(typeOf))].join(" or ");
  if (found.type === "array") return `list of ${typeOf(found.items)}`;
  if (schema?.$ref) return found.title ?? "object";
  return found.format === "binary" ? "file" : found.type ?? "any value";
};

const limits = (schema) => {
  const found = resolve(schema);
  const names = { minimum: "at least", maximum: "at most", maxLength: "characters at most", maxItems: "items at most" };
  const texts = Object.keys(names).filter((key) => key in found).map((key) => `${names[key]} ${found[key]}`);
  if (![undefined, null, ""].includes(found.default)) texts.push(`default ${JSON.stringify(found.default)}`);
  return texts.length ? ` (${texts.join(", ")})` : "";
};

const table = (rows) => node(
  "table", {},
  node("thead", {}, node("tr", {}, ...["Name", "Type", "Meaning"].map((text) => node("th", { scope: "col" }, text)))),
  node("tbody", {}, ...rows.map(([name, required, schema, text]) => node(
    "tr", {},
    node("td", {}, node("code", {}, name), required ? " (required)" : ""),
    node("td", {}, typeOf(schema), limits(schema)),
    node("td", {}, text ?? ""),
  ))),
);

const fieldsOf = (schema) => Object.entries(schema.properties ?? {}).map(
  ([name, field]) => [name, schema.required?.includes(name), field, field.description],
);

// A value that fits a schema: its example, its default, or something of its type.
const exampleOf = (schema) => {
  const found = resolve(schema);
  if (found.examples?.length) return found.examples[0];
  if (found.default !== undefined) return found.default;
  const option = (found.anyOf ?? found.oneOf)?.[0];
  if (option) return exampleOf(option);
  if (found.enum) return found.enum[0];
  if (found.type === "array") return [exampleOf(found.items)];
  if (found.type === "object" || found.properties) {
    const names = (found.required ?? []).filter((name) => found.properties[name].format !== "binary");
    return Object.fromEntries(names.map((name) => [name, exampleOf(found.properties[name])]));
  }
  return { integer: 1, number: 1, boolean: true }[found.type] ?? "";
};

const bodyOf = (operation) => {
  const content = operation.requestBody?.content;
  if (!content) return null;
  const type = content[JSON_TYPE] ? JSON_TYPE : Object.keys(content)[0];
  return { types: Object.keys(content), type, schema: resolve(content[type].schema) };
};

const makeBody = (body, form) => {
  const [file] = form.querySelector("[type=file]")?.files ?? [];
  const text = form.querySelector("textarea")?.value;
  if (!body) return {};
  if (body.type === JSON_TYPE) return { body: text, headers: { "Content-Type": JSON_TYPE } };
  if (!file) throw new Error("Choose a file first.");
  const data = new FormData();
  for (const [name, value] of Object.entries(JSON.parse(text))) for (const one of [value].flat()) data.append(name, one);
  data.append("file", file);
  return { body: data };
};

const makeUrl = (path, form) => {
  const query = new URLSearchParams();
  let url = path;
  for (const input of form.querySelectorAll("[data-in]")) {
    if (input.dataset.in === "path") url = url.replace(`{${input.name}}`, encodeURIComponent(input.value));
    else if (input.value) query.set(input.name, input.value);
  }
  return String(query) ? `${url}?${query}` : url;
};

const describeContent = async (response) => {
  const type = response.headers.get("Content-Type") ?? "";
  const text = await response.text();
  if (!type.startsWith(JSON_TYPE)) return text || "(nothing)";
  return JSON.stringify(JSON.parse(text), null, 2);
};

const send = async (method, path, body, form, output) => {
  output.hidden = false;
  output.textContent = "Sending …";
  try {
    const token = find("token").value;
    const { headers = {}, ...rest } = makeBody(body, form);
    const all = { ...headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    const response = await fetch(makeUrl(path, form), { method: method.toUpperCase(), headers: all, ...rest });
    output.textContent = `${response.status} ${response.statusText}\n\n${await describeContent(response)}`;
  } catch (error) {
    output.textContent = error.message;
  }
};

const attempt = (method, path, operation, body) => {
  const output = node("pre", { role: "status", tabindex: "0", "aria-label": "Response", hidden: "" });
  const inputs = (operation.parameters ?? []).map((one) => node(
    "label", { class: "field" }, node("code", {}, one.name),
    node("input", { type: "text", name: one.name, "data-in": one.in, autocomplete: "off", ...(one.required ? { required: "" } : {}) }),
  ));
  const parts = [];
  if (body) {
    const lines = JSON.stringify(exampleOf(body.schema), null, 2);
    const area = node("textarea", { class: "body", rows: String(Math.min(12, lines.split("\n").length)), spellcheck: "false" });
    area.value = lines;
    parts.push(node("label", { class: "body-label" }, body.type === JSON_TYPE ? "Body" : "Fields, as JSON", area));
  }
  if (body && body.type !== JSON_TYPE) parts.push(node("label", { class: "field" }, "File ", node("input", { type: "file" })));
  const form = node(
    "form", { class: "attempt", "aria-label": `${method.toUpperCase()} ${path}` },
    ...(inputs.length ? [node("div", { class: "options" }, ...inputs)] : []), ...parts,
    node("div", { class: "actions" }, node("button", { type: "submit", class: "main" }, "Send")), output,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(method, path, body, form, output);
  });
  return form;
};

const describeOperation = (method, path, operation) => {
  const body = bodyOf(operation);
  const parts = [];
  const parameters = (operation.parameters ?? []).map((one) => [one.name, one.required, one.schema, one.description]);
  if (parameters.length) parts.push(node("h4", {}, "Parameters"), table(parameters));
  if (body) {
    parts.push(node("h4", {}, "Body"), node("p", {}, "As ", node("code", {}, body.types.join(" or ")), "."));
    if (body.schema.properties) parts.push(table(fieldsOf(body.schema)));
  }
  const responses = Object.entries(operation.responses).map(([status, one]) => {
    const [type, content] = Object.entries(one.content ?? {})[0] ?? [];
    const text = type === JSON_TYPE ? typeOf(content.schema) : type ?? "nothing";
    return node("tr", {}, node("td", {}, node("code", {}, status)), node("td", {}, text), node("td", {}, one.description));
  });
  const heads = ["Status", "Content", "Meaning"].map((text) => node("th", { scope: "col" }, text));
  const list = node("table", {}, node("thead", {}, node("tr", {}, ...heads)), node("tbody", {}, ...responses));
  parts.push(node("h4", {}, "Responses"), list, node("h4", {}, "Try it"), attempt(method, path, operation, body));
  return parts;
};

const showOperation = (method, path, operation) => {
  const panel = node("div", { class: "operation" });
  const title = node("h3", {}, node("span", { class: `method ${method}` }, method.toUpperCase()), path);
  const details = node(
    "details", { "data-search": `${method} ${path} ${operation.description}`.toLowerCase() },
    node("summary", {}, title, node("span", { class: "quiet" }, operation.description)), panel,
  );
  details.addEventListener("toggle", () => { // drawn when first opened
    if (details.open && !panel.hasChildNodes()) panel.append(...describeOperation(method, path, operation));
  });
  return details;
};

const filter = () => {
  const wanted = find("search").value.toLowerCase().split(/\s+/);
  let count = 0;
  for (const section of find("operations").children) {
    let shown = 0;
    for (const one of section.querySelectorAll("details")) {
      one.hidden = !wanted.every((word) => one.dataset.search.includes(word));
      shown += !one.hidden;
    }
    section.hidden = !shown;
    count += shown;
  }
  find("count").textContent = `${count} operation${count === 1 ? "" : "s"}`;
};

const show = () => {
  const groups = new Map();
  for (const [path, operations] of Object.entries(state.document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const tag = operation.tags?.[0] ?? "other";
      groups.set(tag, [...(groups.get(tag) ?? []), showOperation(method, path, operation)]);
    }
  }
  const sections = [...groups].map(([tag, list]) => {
    const title = tag[0].toUpperCase() + tag.slice(1);
    return node("section", { "aria-label": title }, node("h2", {}, title), ...list);
  });
  find("operations").replaceChildren(...sections);
  filter();
};

find("search").addEventListener("input", filter);
find("settings").addEventListener("submit", (event) => event.preventDefault());
fetch("/openapi.json").then((response) => response.json()).then((document) => {
  state.document = document;
  show();
}).catch((error) => {
  find("error").textContent = `The OpenAPI document cannot be read: ${error.message}`;
  find("error").hidden = false;
});
