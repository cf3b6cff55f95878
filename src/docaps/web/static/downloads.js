// Download the result as text, TSV or JSON.

import { save } from "/static/nodes.js";

const oneLine = (text) => text.split(/\s+/).filter(Boolean).join(" ");

const asText = (result) => {
  if (!result.paragraphs) return `${result.rows.map((row) => oneLine(row.translation)).join("\n")}\n`;
  let start = 0;
  const paragraphs = result.paragraphs.map((count) => {
    const part = result.rows.slice(start, start + count);
    start += count;
    return part.map((row) => oneLine(row.translation)).join(" ");
  });
  return `${paragraphs.join("\n\n")}\n`;
};

const asTable = (result) => {
  const comparison = result.comparison ? [result.comparison] : [];
  const lines = [["sentence", "source", "translation", "score", ...comparison]];
  result.rows.forEach((row, index) => {
    const other = result.comparison ? [row.other?.translation ?? ""] : [];
    lines.push([index + 1, oneLine(row.source), oneLine(row.translation), row.score.toFixed(6), ...other.map(oneLine)]);
  });
  return `${lines.map((line) => line.join("\t")).join("\n")}\n`;
};

const asJson = (result) => `${JSON.stringify({
  model: result.model,
  translations: result.rows.map(({ source, translation, score, other }) => ({
    source, translation, score, ...(result.comparison && other ? { compared: { model: result.comparison, translation: other.translation, score: other.score } } : {}),
  })),
}, null, 2)}\n`;

const FORMATS = {
  txt: [asText, "text/plain"],
  tsv: [asTable, "text/tab-separated-values"],
  json: [asJson, "application/json"],
};

export const download = (result, format) => {
  const [write, type] = FORMATS[format];
  save(new Blob([write(result)], { type: `${type};charset=utf-8` }), `translation.${format}`);
};
