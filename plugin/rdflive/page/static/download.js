/** The current answer as a file: SPARQL results in JSON or CSV, triples also as Turtle. */

import { make } from "./elements.js";
import { turtleOf } from "./turtle.js";

/** @typedef {import("./answer.js").Answer} Answer */

/** @param {Answer} answer */
export function downloadJson(answer) {
  const head = { vars: answer.vars };
  const document =
    answer.form === "ASK"
      ? { head: {}, boolean: answer.boolean }
      : { head, results: { bindings: [...answer.bindings()] } };
  save(JSON.stringify(document), "application/sparql-results+json", "answer.srj");
}

/** @param {Answer} answer */
export function downloadCsv(answer) {
  const lines = [answer.vars.map(quoted)];
  for (const binding of answer.bindings()) lines.push(answer.vars.map((name) => quoted(plain(binding[name]))));
  save(lines.map((cells) => `${cells.join(",")}\r\n`).join(""), "text/csv;charset=utf-8", "answer.csv");
}

/**
 * @param {Answer} answer of triples
 * @param {import("./terms.js").Prefixes} prefixes
 */
export function downloadTurtle(answer, prefixes) {
  save(turtleOf(answer.bindings(), prefixes), "text/turtle;charset=utf-8", "answer.ttl");
}

/** @param {import("./terms.js").Term | undefined} term */
function plain(term) {
  if (!term) return "";
  return term.type === "bnode" ? `_:${term.value}` : String(term.value);
}

/** @param {string} text */
function quoted(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * @param {string} text
 * @param {string} type
 * @param {string} download
 */
function save(text, type, download) {
  const href = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href, download }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}
