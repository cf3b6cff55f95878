// A file of the page: sends it to the service, shows how far its translation is, and lets the user save it.

import { deleteFile, fetchResult, fetchState, uploadFile } from "/static/service.js";
import { find, save } from "/static/nodes.js";

const INTERVAL = 400; // milliseconds between two questions
const file = { id: null, stop: null, token: "" };

const show = (text, done = 0, total = 0) => {
  find("file-status").textContent = text;
  const bar = find("file-progress");
  if (total) Object.assign(bar, { max: total, value: done });
  else bar.removeAttribute("value");
};

const setBusy = (busy) => {
  find("file").hidden = false;
  find("file").setAttribute("aria-busy", String(busy));
  find("file-progress").hidden = !busy;
  if (!busy && document.activeElement === find("file-stop")) find("open").focus();
  find("file-stop").hidden = !busy;
};

const describe = (state) => {
  if (!state.sentences) return `${state.name}: waiting …`;
  const left = state.seconds_left ? `, about ${state.seconds_left} s left` : "";
  return `${state.name}: ${state.translated} of ${state.sentences} sentences${left}`;
};

const wait = (signal) => new Promise((resolve, reject) => {
  if (signal.aborted) reject(signal.reason);
  const timer = setTimeout(resolve, INTERVAL);
  signal.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
});

const finish = async (state, signal) => {
  const content = await fetchResult(state.id, file.token, signal);
  const button = find("file-save");
  button.textContent = `Save ${state.result_name}`;
  button.onclick = () => save(content, state.result_name);
  button.hidden = false;
  show(`${state.name} is translated: ${state.sentences} sentence${state.sentences === 1 ? "" : "s"}.`);
  const doubts = state.warning ? [`${state.warning}. The translation may make no sense.`] : [];
  doubts.push(...(state.notes ?? []).map((note) => `${note}.`));
  if (state.missing_terms) doubts.push(`Terms that could not be written: ${state.missing_terms}.`);
  find("file-warning").textContent = doubts.join(" ");
  find("file-warning").hidden = !doubts.length;
};

// Delete the file from the service: the translation is here, or nobody wants it any more.
const forget = () => {
  if (file.id) deleteFile(file.id, file.token).catch(() => {});
  file.id = null;
};

// What the user chose for files of subtitles and strings.
export const fileOptions = () => {
  const given = ["encoding", "line_length", "lines", "reading_speed"].map((name) => [name, find(`file-${name}`).value.trim()]);
  return { ...Object.fromEntries(given.filter(([, value]) => value)), all: find("file-all").checked };
};

export const stopFile = () => file.stop?.abort();

// Translate a file; throw the error to show, if any.
export const translateFile = async (chosen, options, token) => {
  stopFile();
  const stop = new AbortController();
  Object.assign(file, { stop, token });
  find("file-save").hidden = true;
  find("file-warning").hidden = true;
  setBusy(true);
  show(`${chosen.name}: sending …`);
  try {
    let state = await uploadFile(chosen, options, token, stop.signal);
    file.id = state.id;
    while (["queued", "translating"].includes(state.status)) {
      show(describe(state), state.translated, state.sentences);
      await wait(stop.signal);
      state = await fetchState(state.id, token, stop.signal);
    }
    if (state.status === "error") throw new Error(state.error);
    await finish(state, stop.signal);
  } catch (error) {
    if (file.stop !== stop) return; // another file was chosen
    show(`${chosen.name} was not translated.`);
    if (error.name !== "AbortError") throw error;
  } finally {
    if (file.stop === stop) {
      forget();
      file.stop = null;
      setBusy(false);
    }
  }
};
