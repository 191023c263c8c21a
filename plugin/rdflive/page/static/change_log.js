/** The last changes of an answer as text. */

import { cut, make } from "./elements.js";
import { keyOf, termOf } from "./pairs.js";
import { textOf } from "./terms.js";

/** @typedef {import("./terms.js").Binding} Binding */
/** @typedef {import("./pairs.js").Pair} Pair */

const KEPT = 50;
const ROWS = 3;
const LONGEST = 160;

/** A list of changes, the latest on top. */
export class ChangeLog {
  #prefixes;
  #list = make("ol", { className: "log" });
  #none = make("p", { className: "quiet" }, "No changes yet.");

  /** @param {import("./terms.js").Prefixes} prefixes */
  constructor(prefixes) {
    this.#prefixes = prefixes;
    this.element = make("div", {}, this.#none, this.#list);
  }

  /**
   * @param {string} name of the change: its sequence
   * @param {import("./pairs.js").Change} change
   */
  add(name, { added, removed, changed }) {
    const change = { added, removed, changed };
    this.entry(name, countsOf(change)).append(...changeLines(change, this.#prefixes, ROWS));
  }

  /**
   * Adds an entry of text, and returns its element.
   * @param {string} name
   * @param {string} words
   */
  entry(name, words) {
    this.#none.hidden = true;
    const time = make("time", {}, new Date().toLocaleTimeString());
    const entry = make("li", {}, make("p", {}, time, ` ${name} `, make("strong", {}, words)));
    this.#list.prepend(entry);
    if (this.#list.childElementCount > KEPT) this.#list.lastElementChild?.remove();
    return entry;
  }
}

/**
 * Writes the numbers of changed, added and removed rows.
 * @param {import("./pairs.js").Change} change
 */
export function countsOf({ added, removed, changed }) {
  const counts = changed.length > 0 ? [`~${written(changed)}`] : [];
  if (added.length > 0 || removed.length > 0) counts.push(`+${written(added)}`, `−${written(removed)}`);
  return counts.join(" ");
}

/**
 * Makes a line for each changed, removed and added row, up to `most` of each.
 * @param {import("./pairs.js").Change} change
 * @param {import("./terms.js").Prefixes} prefixes
 * @param {number} most
 */
export function changeLines({ added, removed, changed }, prefixes, most) {
  const row = (/** @type {Binding} */ binding) => rowText(binding, prefixes);
  return [
    ...lines(changed, "changed", "~", (pair) => turned(pair, prefixes), most),
    ...lines(removed, "went", "−", row, most),
    ...lines(added, "came", "+", row, most),
  ];
}

/**
 * Writes a row on one line.
 * @param {Binding} binding
 * @param {import("./terms.js").Prefixes} prefixes
 */
export function rowText(binding, prefixes) {
  return Object.values(binding).map((term) => textOf(term, prefixes)).join("  ");
}

/**
 * @template T
 * @param {T[]} all
 * @param {string} className
 * @param {string} sign
 * @param {(one: T) => string} text
 * @param {number} most
 */
function lines(all, className, sign, text, most) {
  const shown = all
    .slice(0, most)
    .map((one) => make("p", { className }, `${sign} `, make("bdi", {}, cut(text(one), LONGEST))));
  const rest = all.length - shown.length;
  if (rest > 0) shown.push(make("p", { className }, `${sign} ${rest.toLocaleString("en")} more`));
  return shown;
}

/**
 * Writes the values of a changed row: equal ones once, changed ones as old and new.
 * @param {Pair} pair
 * @param {import("./terms.js").Prefixes} prefixes
 */
function turned(pair, prefixes) {
  const names = [...new Set([...Object.keys(pair.old), ...Object.keys(pair.new)])];
  const text = (/** @type {Binding} */ binding, /** @type {string} */ name) => textOf(termOf(binding, name), prefixes);
  const isSame = (/** @type {string} */ name) => keyOf(pair.old, [name]) === keyOf(pair.new, [name]);
  return names
    .map((name) => (isSame(name) ? text(pair.new, name) : `${text(pair.old, name)} → ${text(pair.new, name)}`))
    .join("  ");
}

/** @param {any[]} all */
function written(all) {
  return all.length.toLocaleString("en");
}
