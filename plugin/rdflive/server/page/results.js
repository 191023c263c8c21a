/** Validation results in words: how severe, where, and why. */

import { counted, make } from "./elements.js";
import { elementOf, shorten } from "./terms.js";

/** @typedef {import("./terms.js").Binding} Binding */
/** @typedef {import("./terms.js").Prefixes} Prefixes */

/** How many results are listed at a form. */
const MOST = 20;
/** Classes of the three severities that SHACL has. */
const SEVERE = new Map([["Violation", "violation"], ["Warning", "warning"]]);

/**
 * Gives the part of an IRI behind the last # or /.
 * @param {import("./terms.js").Term | undefined} term
 */
export function localName(term) {
  return String(term?.value ?? "").replace(/^.*[#/]/s, "");
}

/**
 * Makes what tells a result, but for its focus node.
 * @param {Binding} result
 * @param {Prefixes} prefixes
 * @returns {(Node | string)[]}
 */
export function partsOf({ path, value, component, severity, message }, prefixes) {
  const name = localName(severity);
  const parts = [make("span", { className: `severity ${SEVERE.get(name) ?? ""}` }, name), " "];
  // other paths than an IRI are structures of the shapes graph, of which only a label is known here
  if (path?.type === "uri") parts.push(make("bdi", { className: "uri", title: path.value }, shorten(path.value, prefixes)), ": ");
  if (value) parts.push(elementOf(value, prefixes), " ");
  if (message) parts.push(make("bdi", { lang: message["xml:lang"] ?? "" }, String(message.value)), " ");
  const constraint = localName(component).replace(/ConstraintComponent$/, "");
  return [...parts, make("span", { className: "quiet" }, `(${constraint})`)];
}

/**
 * Lists results for which an update is refused.
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
