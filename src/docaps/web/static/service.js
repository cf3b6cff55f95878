// Client of the service: models, translations, and server-sent events one by one.

export class ServiceError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

const headers = (token) => ({ "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) });

const errorOf = async (response) => {
  let body = { error: `the service answered with status ${response.status}` };
  try { body = await response.json(); } catch { /* not JSON: report the status only */ }
  const details = (body.details ?? []).map((one) => (one.where ? `${one.where}: ${one.message}` : one.message));
  return new ServiceError([body.error, ...details].join("; "), response.status);
};

export const fetchModels = async (token) => {
  const response = await fetch("/v1/models", { headers: headers(token) });
  if (!response.ok) throw await errorOf(response);
  return response.json();
};

export const translate = async (request, token, signal) => {
  const response = await fetch("/v1/translate", { method: "POST", headers: headers(token), body: JSON.stringify(request), signal });
  if (!response.ok) throw await errorOf(response);
  return response.json();
};

// Send a file with options, as a form.
export const uploadFile = async (file, options, token, signal) => {
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...options, name: file.name })) form.append(name, value);
  form.append("file", file);
  const { "Content-Type": _, ...sent } = headers(token); // the browser adds that of the form
  const response = await fetch("/v1/files", { method: "POST", headers: sent, body: form, signal });
  if (!response.ok) throw await errorOf(response);
  return response.json();
};

const requestFile = async (path, method, token, signal) => {
  const response = await fetch(`/v1/files/${path}`, { method, headers: headers(token), signal });
  if (!response.ok) throw await errorOf(response);
  return response;
};

export const fetchState = async (id, token, signal) => (await requestFile(id, "GET", token, signal)).json();
export const fetchResult = async (id, token, signal) => (await requestFile(`${id}/result`, "GET", token, signal)).blob();
export const deleteFile = (id, token) => requestFile(id, "DELETE", token);

// Split off complete events, which end with an empty line; the rest waits for more data.
export const splitEvents = (text) => {
  const blocks = text.split("\n\n");
  const rest = blocks.pop();
  const events = blocks.filter((block) => block && !block.startsWith(":")).map((block) => {
    const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s, 2)));
    return { name: fields.event, data: JSON.parse(fields.data) };
  });
  return { events, rest };
};

export async function* stream(request, token, signal) {
  const response = await fetch("/v1/translate/stream", { method: "POST", headers: headers(token), body: JSON.stringify(request), signal });
  if (!response.ok) throw await errorOf(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new ServiceError("the service closed the connection before the end", 0);
    const { events, rest } = splitEvents(text + value);
    text = rest;
    for (const { name, data } of events) {
      if (name === "error") throw new ServiceError(data.error, 200);
      yield { name, data };
      if (name === "done") return;
    }
  }
}
