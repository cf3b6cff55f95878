// The service, asked from the page: events of a stream, one by one.

export class ServiceError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

const headers = (token) => ({ "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) });

const refused = async (answer) => {
  let told = { error: `the service answered ${answer.status}` };
  try { told = await answer.json(); } catch { /* not JSON: the status has to do */ }
  const details = (told.details ?? []).map((one) => `${one.where}: ${one.message}`);
  return new ServiceError([told.error, ...details].join("; "), answer.status);
};

export const askModels = async (token) => {
  const answer = await fetch("/v1/models", { headers: headers(token) });
  if (!answer.ok) throw await refused(answer);
  return answer.json();
};

export const translate = async (order, token, signal) => {
  const answer = await fetch("/v1/translate", { method: "POST", headers: headers(token), body: JSON.stringify(order), signal });
  if (!answer.ok) throw await refused(answer);
  return answer.json();
};

// An event is finished by an empty line; what comes after the last one waits for more.
export const cutEvents = (text) => {
  const blocks = text.split("\n\n");
  const rest = blocks.pop();
  const events = blocks.filter((block) => block && !block.startsWith(":")).map((block) => {
    const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s, 2)));
    return { name: fields.event, data: JSON.parse(fields.data) };
  });
  return { events, rest };
};

export async function* stream(order, token, signal) {
  const answer = await fetch("/v1/translate/stream", { method: "POST", headers: headers(token), body: JSON.stringify(order), signal });
  if (!answer.ok) throw await refused(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new ServiceError("the service closed the connection before the end", 0);
    const { events, rest } = cutEvents(text + value);
    text = rest;
    for (const { name, data } of events) {
      if (name === "error") throw new ServiceError(data.error, 200);
      yield { name, data };
      if (name === "done") return;
    }
  }
}
