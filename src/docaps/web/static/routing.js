// Which words of the history fed which capsule: coloured words and heat maps, iteration by iteration.

const SVG = "http://www.w3.org/2000/svg";
const CELL = { width: 34, height: 24 };
const MARGIN = 74;
const KINDS = {
  coupling: { title: "Coupling c", text: "how each word is shared out among the capsules; the shares of a word sum to 1" },
  pcc: { title: "Correlation p", text: "how well each word fits the sentence, which is the query" },
};
let panels = 0;

const make = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

const draw = (name, attributes, ...children) => {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

// Round up to 1, 2 or 5 times a power of ten: the end of a scale somebody can read.
const niceCeiling = (value) => {
  const power = 10 ** Math.floor(Math.log10(value));
  return Number(([1, 2, 5, 10].find((factor) => value <= factor * power * (1 + 1e-9)) * power).toPrecision(6));
};

// One scale for all iterations and sentences, so that they compare: neutral where routing starts.
const scaleOf = (kind, history) => {
  const values = history.flatMap((part) => part[kind].flat(2)).filter((value) => value !== null);
  const neutral = kind === "coupling" ? 1 / history[0][kind][0].length : 0;
  const reach = Math.min(1, niceCeiling(Math.max(0.01, ...values.map((value) => Math.abs(value - neutral)))));
  const ends = kind === "coupling" ? [Math.max(0, neutral - reach), Math.min(1, neutral + reach)] : [-reach, reach];
  return { neutral, low: ends[0], high: ends[1] };
};

const shade = (value, scale) => {
  if (value === null) return { hue: "undefined", strength: 1 };
  const end = value > scale.neutral ? scale.high : scale.low;
  const strength = end === scale.neutral ? 0 : Math.min(1, (value - scale.neutral) / (end - scale.neutral));
  return { hue: value > scale.neutral ? "high" : value < scale.neutral ? "low" : "neutral", strength };
};

const decimal = (value, digits = 2) => (value === null ? "not defined" : value.toFixed(digits).replace("-", "−"));
const distanceWords = (distance) => (distance === 1 ? "the sentence before" : `${distance} sentences before`);
const plain = (piece) => piece.replace(/@@$/, "").replace(/^▁/, "");
const joinsNext = (pieces, place) => pieces[place].endsWith("@@") || /^[.,;:!?…)]+$/.test(pieces[place + 1] ?? "")
  || (pieces.some((piece) => piece.startsWith("▁")) && place + 1 < pieces.length && !pieces[place + 1].startsWith("▁"));

const colouredWords = (part, values, scale, kind) => {
  const sentence = make("span", { class: "before" });
  part.words.forEach((piece, place) => {
    const { hue, strength } = shade(values[place], scale);
    const word = make("span", { class: `word ${hue}`, title: `${plain(piece)}: ${kind === "pcc" ? "p" : "c"} = ${decimal(values[place], 3)}` }, plain(piece));
    word.style.setProperty("--strength", strength.toFixed(3));
    sentence.append(word, joinsNext(part.words, place) ? "" : " ");
  });
  return sentence;
};

// The same in words, for those who do not see colours.
const strongest = (history, capsule, iteration, kind) => {
  const found = history.flatMap((part) => part.words.map((piece, place) => ({ word: plain(piece), value: part[kind][iteration][capsule][place] })));
  const most = found.filter((one) => one.value !== null && /[\p{L}\p{N}]/u.test(one.word)).sort((a, b) => b.value - a.value).slice(0, 3);
  return `most: ${most.map((one) => `${one.word} ${decimal(one.value, 3)}`).join(", ")}`;
};

const capsuleList = (history, iteration, kind, scale) => {
  const list = make("ul", { class: "capsules" });
  for (let capsule = 0; capsule < history[0][kind][iteration].length; capsule += 1) {
    const told = make("span", { class: "told" });
    for (const part of history) told.append(colouredWords(part, part[kind][iteration][capsule], scale, kind));
    list.append(make("li", {}, make("span", { class: "name" }, `capsule ${capsule + 1}`), told,
      make("span", { class: "most" }, strongest(history, capsule, iteration, kind))));
  }
  return list;
};

const heatMap = (part, iteration, kind, scale) => {
  const table = part[kind][iteration];
  const height = table.length * CELL.height;
  const width = MARGIN + part.words.length * CELL.width;
  const label = `${KINDS[kind].title}, iteration ${iteration}, ${distanceWords(part.distance)}`;
  const picture = draw("svg", { class: "heatmap", "data-kind": kind, "data-iteration": iteration, viewBox: `0 0 ${width + 4} ${height + 62}`, width: width + 4, role: "img", "aria-label": label });
  table.forEach((row, capsule) => {
    const text = draw("text", { x: MARGIN - 8, y: capsule * CELL.height + 16, "text-anchor": "end" }, `capsule ${capsule + 1}`);
    picture.append(text);
    row.forEach((value, place) => {
      const { hue, strength } = shade(value, scale);
      const name = draw("title", {}, `${plain(part.words[place])}, capsule ${capsule + 1}: ${kind === "pcc" ? "p" : "c"} = ${decimal(value, 3)}`);
      const box = { x: MARGIN + place * CELL.width, y: capsule * CELL.height, width: CELL.width, height: CELL.height };
      picture.append(draw("rect", { ...box, class: `cell ${hue}`, "fill-opacity": strength.toFixed(3) }, name));
    });
  });
  part.words.forEach((piece, place) => {
    const [x, y] = [MARGIN + (place + 0.5) * CELL.width + 3, height + 12];
    const short = piece.length > 11 ? `${piece.slice(0, 10)}…` : piece;
    picture.append(draw("text", { x, y, class: "word-label", "text-anchor": "end", transform: `rotate(-45 ${x} ${y})` }, short));
  });
  const box = make("div", { class: "scroll" }, picture);
  if (width > 300) { // it may scroll sideways, which a keyboard must be able to do
    for (const [key, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", label]]) box.setAttribute(key, value);
  }
  return make("figure", {}, make("figcaption", {}, distanceWords(part.distance)), box);
};

const ramp = (kind, scale, capsules) => {
  const middle = kind === "coupling" ? `${decimal(scale.neutral)} (1/${capsules}, equal shares)` : "0 (no correlation)";
  const ends = [decimal(scale.low), middle, decimal(scale.high)].map((text) => make("span", {}, text));
  return make("div", { class: "scale" }, make("div", { class: "ramp" }), make("div", { class: "ends" }, ...ends));
};

const kindChoice = (kinds, number, chosen) => {
  const choices = kinds.map((kind) => {
    const input = make("input", { type: "radio", name: `kind-${number}`, value: kind });
    input.checked = kind === chosen;
    return make("label", {}, input, KINDS[kind].title);
  });
  return make("fieldset", {}, make("legend", {}, "Show"), ...choices);
};

// Build the panel of one sentence; `routing` is what the service told, nearest sentence first.
export const routingPanel = (routing) => {
  const history = [...routing].sort((a, b) => b.distance - a.distance);
  const kinds = ["pcc", "coupling"].filter((kind) => history.every((part) => part[kind]));
  panels += 1;
  const panel = make("div", { class: "panel" }, make("h2", {}, "Which words fed which capsule"));
  if (!history.length || !kinds.length) {
    panel.append(make("p", {}, history.length ? "This model looks back without capsules." : "There was no earlier sentence to look at, or this model has no capsules."));
    return panel;
  }
  const last = history[0][kinds[0]].length - 1;
  const slider = make("input", { type: "range", min: 0, max: last, step: 1, id: `iteration-${panels}` });
  slider.value = last;
  const output = make("output", { for: slider.id });
  const choice = kindChoice(kinds, panels, kinds[0]);
  const about = make("p", { class: "quiet" });
  const view = make("div", { class: "view" });
  const show = () => {
    const kind = choice.querySelector("input:checked").value;
    const iteration = Number(slider.value);
    const scale = scaleOf(kind, history);
    const capsules = history[0][kind][0].length;
    output.textContent = `${iteration} of ${last}`;
    about.textContent = `${KINDS[kind].title}: ${KINDS[kind].text}. Blue is high, red is low.`;
    view.replaceChildren(ramp(kind, scale, capsules), make("h3", {}, "In the text"), capsuleList(history, iteration, kind, scale),
      make("h3", {}, "As heat maps"), make("div", { class: "maps" }, ...history.map((part) => heatMap(part, iteration, kind, scale))));
  };
  slider.addEventListener("input", show);
  choice.addEventListener("change", show);
  panel.append(make("div", { class: "controls" }, choice, make("label", { for: slider.id }, "Iteration"), slider, output), about, view);
  show();
  return panel;
};
