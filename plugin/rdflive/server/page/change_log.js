/** The last changes of an answer, in words. */

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
  #none = make("p", { className: "quiet" }, "Nothing has changed since you opened this.");

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
    const counts = changed.length > 0 ? [`~${written(changed)}`] : [];
    if (added.length > 0 || removed.length > 0) counts.push(`+${written(added)}`, `−${written(removed)}`);
    const entry = this.entry(name, counts.join(" "));
    entry.append(
      ...this.#lines(changed, "changed", "~", (pair) => this.#turned(pair)),
      ...this.#lines(removed, "went", "−", (binding) => this.#row(binding)),
      ...this.#lines(added, "came", "+", (binding) => this.#row(binding)),
    );
  }

  /**
   * Adds an entry of words only, and gives its element.
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

  /**
   * @template T
   * @param {T[]} all
   * @param {string} className
   * @param {string} sign
   * @param {(one: T) => string} text
   */
  #lines(all, className, sign, text) {
    const shown = all
      .slice(0, ROWS)
      .map((one) => make("p", { className }, `${sign} `, make("bdi", {}, cut(text(one), LONGEST))));
    const rest = all.length - shown.length;
    if (rest > 0) shown.push(make("p", { className }, `${sign} ${rest.toLocaleString("en")} more`));
    return shown;
  }

  /** @param {Binding} binding */
  #row(binding) {
    return Object.values(binding).map((term) => textOf(term, this.#prefixes)).join("  ");
  }

  /** Writes what stayed as it is, and of what changed both values. @param {Pair} pair */
  #turned(pair) {
    const names = [...new Set([...Object.keys(pair.old), ...Object.keys(pair.new)])];
    const text = (/** @type {Binding} */ binding, /** @type {string} */ name) =>
      textOf(termOf(binding, name), this.#prefixes);
    const isSame = (/** @type {string} */ name) => keyOf(pair.old, [name]) === keyOf(pair.new, [name]);
    return names
      .map((name) => (isSame(name) ? text(pair.new, name) : `${text(pair.old, name)} → ${text(pair.new, name)}`))
      .join("  ");
  }
}

/** @param {any[]} all */
function written(all) {
  return all.length.toLocaleString("en");
}
