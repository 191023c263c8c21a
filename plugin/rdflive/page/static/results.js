/** Validation results as text: severity, place and reason. */

import { counted, make } from "./elements.js";
import { elementOf, shorten } from "./terms.js";

/** @typedef {import("./terms.js").Binding} Binding */
/** @typedef {import("./terms.js").Prefixes} Prefixes */

/** The most results in a list. */
const MOST = 20;
/** CSS classes of SHACL's severities. */
const SEVERE = new Map([["Violation", "violation"], ["Warning", "warning"]]);

/**
 * Returns the part of an IRI after the last # or /.
 * @param {import("./terms.js").Term | undefined} term
 */
export function localName(term) {
  return String(term?.value ?? "").replace(/^.*[#/]/s, "");
}

/**
 * Makes the elements of a result, except its focus node.
 * @param {Binding} result
 * @param {Prefixes} prefixes
 * @returns {(Node | string)[]}
 */
export function partsOf({ path, value, component, severity, message }, prefixes) {
  const name = localName(severity);
  const parts = [make("span", { className: `severity ${SEVERE.get(name) ?? ""}` }, name), " "];
  // other paths than IRIs are structures of the shapes graph, and only their label is known here
  if (path?.type === "uri") parts.push(make("bdi", { className: "uri", title: path.value }, shorten(path.value, prefixes)), ": ");
  if (value) parts.push(elementOf(value, prefixes), " ");
  if (message) parts.push(make("bdi", { lang: message["xml:lang"] ?? "" }, String(message.value)), " ");
  const constraint = localName(component).replace(/ConstraintComponent$/, "");
  return [...parts, make("span", { className: "quiet" }, `(${constraint})`)];
}

/**
 * Lists the results of a refused update.
 * @param {Binding[]} results
 * @param {Prefixes} prefixes
 */
export function listOf(results, prefixes) {
  const items = results
    .slice(0, MOST)
    .map((result) => make("li", {}, elementOf(result.focus, prefixes), " ", ...partsOf(result, prefixes)));
  const rest = results.length - items.length;
  if (rest > 0) items.push(make("li", { className: "quiet" }, `and ${counted(rest, "more", "more")}`));
  return make("ul", { className: "results" }, ...items);
}
