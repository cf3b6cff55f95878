// The routing of one sentence: which words of the history went to which capsule, as coloured words and heat maps.

import { node } from "/static/nodes.js";

const SVG = "http://www.w3.org/2000/svg";
const CELL = { width: 34, height: 24 };
const MARGIN = 74;
const KINDS = {
  coupling: { title: "Coupling c", text: "the share of each word that goes to each capsule; the shares of a word sum to 1" },
  pcc: { title: "Correlation p", text: "how strongly each word correlates with the query, the sentence being translated" },
};
let panels = 0;

const draw = (name, attributes, ...children) => {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

// Round up to 1, 2 or 5 times a power of ten, for a readable scale.
const niceCeiling = (value) => {
  const power = 10 ** Math.floor(Math.log10(value));
  return Number(([1, 2, 5, 10].find((factor) => value <= factor * power * (1 + 1e-9)) * power).toPrecision(6));
};

// One scale for all iterations and sentences, so that they are comparable; neutral is where routing starts.
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
const sentenceName = ({ distance, side }) => {
  const place = distance === 0 ? "the sentence itself" : distance === 1 ? "the sentence before" : `${distance} sentences before`;
  return side === "target" ? `${place}, its translation` : place;
};
const plain = (token) => token.replace(/@@$/, "").replace(/^▁/, "");
const joinsNext = (tokens, index) => tokens[index].endsWith("@@") || /^[.,;:!?…)]+$/.test(tokens[index + 1] ?? "")
  || (tokens.some((token) => token.startsWith("▁")) && index + 1 < tokens.length && !tokens[index + 1].startsWith("▁"));

const colouredWords = (part, values, scale, kind) => {
  const sentence = node("span", { class: "before" });
  part.words.forEach((token, index) => {
    const { hue, strength } = shade(values[index], scale);
    const word = node("span", { class: `word ${hue}`, title: `${plain(token)}: ${kind === "pcc" ? "p" : "c"} = ${decimal(values[index], 3)}` }, plain(token));
    word.style.setProperty("--strength", strength.toFixed(3));
    sentence.append(word, joinsNext(part.words, index) ? "" : " ");
  });
  return sentence;
};

// The same as text, for readers who cannot see the colours.
const strongestWords = (history, capsule, iteration, kind) => {
  const found = history.flatMap((part) => part.words.map((token, index) => ({ word: plain(token), value: part[kind][iteration][capsule][index] })));
  const top = found.filter((one) => one.value !== null && /[\p{L}\p{N}]/u.test(one.word)).sort((a, b) => b.value - a.value).slice(0, 3);
  return `strongest: ${top.map((one) => `${one.word} ${decimal(one.value, 3)}`).join(", ")}`;
};

const capsuleList = (history, iteration, kind, scale) => {
  const list = node("ul", { class: "capsules" });
  for (let capsule = 0; capsule < history[0][kind][iteration].length; capsule += 1) {
    const text = node("span", { class: "text" });
    for (const part of history) text.append(colouredWords(part, part[kind][iteration][capsule], scale, kind));
    list.append(node("li", {}, node("span", { class: "name" }, `capsule ${capsule + 1}`), text,
      node("span", { class: "strongest" }, strongestWords(history, capsule, iteration, kind))));
  }
  return list;
};

const heatMap = (part, iteration, kind, scale) => {
  const table = part[kind][iteration];
  const height = table.length * CELL.height;
  const width = MARGIN + part.words.length * CELL.width;
  const label = `${KINDS[kind].title}, iteration ${iteration}, ${sentenceName(part)}`;
  const picture = draw("svg", { class: "heatmap", "data-kind": kind, "data-iteration": iteration, viewBox: `0 0 ${width + 4} ${height + 62}`, width: width + 4, role: "img", "aria-label": label });
  table.forEach((row, capsule) => {
    const text = draw("text", { x: MARGIN - 8, y: capsule * CELL.height + 16, "text-anchor": "end" }, `capsule ${capsule + 1}`);
    picture.append(text);
    row.forEach((value, index) => {
      const { hue, strength } = shade(value, scale);
      const name = draw("title", {}, `${plain(part.words[index])}, capsule ${capsule + 1}: ${kind === "pcc" ? "p" : "c"} = ${decimal(value, 3)}`);
      const box = { x: MARGIN + index * CELL.width, y: capsule * CELL.height, width: CELL.width, height: CELL.height };
      picture.append(draw("rect", { ...box, class: `cell ${hue}`, "fill-opacity": strength.toFixed(3) }, name));
    });
  });
  part.words.forEach((token, index) => {
    const [x, y] = [MARGIN + (index + 0.5) * CELL.width + 3, height + 12];
    const short = token.length > 11 ? `${token.slice(0, 10)}…` : token;
    picture.append(draw("text", { x, y, class: "word-label", "text-anchor": "end", transform: `rotate(-45 ${x} ${y})` }, short));
  });
  const box = node("div", { class: "scroll" }, picture);
  if (width > 300) { // a region that scrolls sideways must be reachable by keyboard
    for (const [key, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", label]]) box.setAttribute(key, value);
  }
  return node("figure", {}, node("figcaption", {}, sentenceName(part)), box);
};

const ramp = (kind, scale, capsules) => {
  const middle = kind === "coupling" ? `${decimal(scale.neutral)} (1/${capsules}, equal shares)` : "0 (no correlation)";
  const ends = [decimal(scale.low), middle, decimal(scale.high)].map((text) => node("span", {}, text));
  return node("div", { class: "scale" }, node("div", { class: "ramp" }), node("div", { class: "ends" }, ...ends));
};

const kindChoice = (kinds, number, chosen) => {
  const choices = kinds.map((kind) => {
    const input = node("input", { type: "radio", name: `kind-${number}`, value: kind });
    input.checked = kind === chosen;
    return node("label", {}, input, KINDS[kind].title);
  });
  return node("fieldset", {}, node("legend", {}, "Show"), ...choices);
};

// Build the panel of one sentence; `routing` comes from the service, nearest sentence first.
export const routingPanel = (routing) => {
  const history = [...routing].sort((a, b) => b.distance - a.distance);
  const kinds = ["pcc", "coupling"].filter((kind) => history.every((part) => part[kind]));
  panels += 1;
  const panel = node("div", { class: "panel" }, node("h2", {}, "Which words went to which capsule"));
  if (!history.length || !kinds.length) {
    panel.append(node("p", {}, history.length ? "This model uses its history without capsules." : "There is no earlier sentence, or this model has no capsules."));
    return panel;
  }
  const last = history[0][kinds[0]].length - 1;
  const slider = node("input", { type: "range", min: 0, max: last, step: 1, id: `iteration-${panels}` });
  slider.value = last;
  const output = node("output", { for: slider.id });
  const choice = kindChoice(kinds, panels, kinds[0]);
  const about = node("p", { class: "quiet" });
  const view = node("div", { class: "view" });
  const show = () => {
    const kind = choice.querySelector("input:checked").value;
    const iteration = Number(slider.value);
    const scale = scaleOf(kind, history);
    const capsules = history[0][kind][0].length;
    output.textContent = `${iteration} of ${last}`;
    about.textContent = `${KINDS[kind].title}: ${KINDS[kind].text}. Blue is high, red is low.`;
    view.replaceChildren(ramp(kind, scale, capsules), node("h3", {}, "In the text"), capsuleList(history, iteration, kind, scale),
      node("h3", {}, "As heat maps"), node("div", { class: "maps" }, ...history.map((part) => heatMap(part, iteration, kind, scale))));
  };
  slider.addEventListener("input", show);
  choice.addEventListener("change", show);
  panel.append(node("div", { class: "controls" }, choice, node("label", { for: slider.id }, "Iteration"), slider, output), about, view);
  show();
  return panel;
};
