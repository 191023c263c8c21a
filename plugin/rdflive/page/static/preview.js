/** The preview of an update as text. */

import { changeLines, countsOf, rowText } from "./change_log.js";
import { counted, make } from "./elements.js";
import { listOf, partsOf } from "./results.js";
import { elementOf, prefixesOf } from "./terms.js";
import { titleOf } from "./titles.js";

/** @typedef {import("./terms.js").Prefixes} Prefixes */

/** The most listed quads, of added and of removed ones. */
const QUADS = 10;
const ROWS = 3;

/**
 * Returns the sentence that sums up a preview.
 * @param {any} preview
 */
export function summed({ added, removed, refused }) {
  if (refused) return "Preview: the update would be refused.";
  if (!added) return "Preview: the update would run.";
  if (added.length + removed.length === 0) return "Preview: no changes.";
  const words = [added.length && `add ${counted(added.length, "quad")}`, removed.length && `remove ${counted(removed.length, "quad")}`];
  return `Preview: would ${words.filter(Boolean).join(" and ")}.`;
}

/**
 * Makes the elements of a preview.
 * @param {any} preview
 * @param {string} update
 */
export function elementsOf({ added = [], removed = [], subscriptions = [], refused }, update) {
  const prefixes = prefixesOf(update);
  const parts = [];
  if (refused) parts.push(...refusal(refused.detail, refused.results, prefixes));
  if (added.length + removed.length) {
    const change = { added: sorted(added, prefixes), removed: sorted(removed, prefixes), changed: [] };
    parts.push(part(`The graph ${countsOf(change)}`, ...changeLines(change, prefixes, QUADS)));
  }
  parts.push(...subscriptions.map((/** @type {any} */ one) => subscription(one, prefixes)));
  return parts;
}

/**
 * Makes the elements with the reasons of a guard's refusal.
 * @param {string} detail
 * @param {any[]} results
 * @param {Prefixes} prefixes
 */
export function refusal(detail, results, prefixes) {
  // a guard that is a query has its rows in the text
  const isOfShapes = results.some((one) => one.focus);
  const text = make("p", { className: "told" }, isOfShapes ? detail.split("\n", 1)[0] : detail);
  return isOfShapes ? [text, listOf(results, prefixes)] : [text];
}

/**
 * @param {any} one
 * @param {Prefixes} prefixes
 */
function subscription({ subscription: id, query, added = [], removed = [], changed = [], boolean }, prefixes) {
  const title = id === "validation" ? "Validation" : titleOf(query);
  if (boolean !== undefined) return part(`${title}: ${boolean ? "yes" : "no"}`);
  const change = { added, removed, changed };
  const heading = `${title} ${countsOf(change)}`;
  if (id !== "validation") return part(heading, ...changeLines(change, prefixes, ROWS));
  const line = (/** @type {string} */ name, /** @type {string} */ sign) => (/** @type {any} */ result) =>
    make("p", { className: name }, `${sign} `, elementOf(result.focus, prefixes), " ", ...partsOf(result, prefixes));
  return part(heading, ...removed.slice(0, QUADS).map(line("went", "−")), ...added.slice(0, QUADS).map(line("came", "+")));
}

/**
 * Sorts quads by their text, so that those of a subject are together.
 * @param {any[]} quads
 * @param {Prefixes} prefixes
 */
function sorted(quads, prefixes) {
  const texts = quads.map((quad) => ({ quad, text: rowText(quad, prefixes) }));
  return texts.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0)).map(({ quad }) => quad);
}

/**
 * @param {string} heading
 * @param {...HTMLElement} lines
 */
function part(heading, ...lines) {
  return make("div", {}, make("h4", {}, heading), ...lines);
}
