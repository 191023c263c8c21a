/** The last changes of an answer, in words. */

import { make } from "./elements.js";
import { textOf } from "./terms.js";

/** @typedef {import("./terms.js").Binding} Binding */

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
   * @param {{added: Binding[], removed: Binding[]}} change
   */
  add(name, { added, removed }) {
    this.#none.hidden = true;
    const entry = this.entry(name, `+${added.length.toLocaleString("en")} −${removed.length.toLocaleString("en")}`);
    entry.append(...this.#rows(removed, "went", "−"), ...this.#rows(added, "came", "+"));
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
   * @param {Binding[]} bindings
   * @param {string} className
   * @param {string} sign
   */
  #rows(bindings, className, sign) {
    const shown = bindings.slice(0, ROWS).map((binding) => {
      const text = Object.values(binding).map((term) => textOf(term, this.#prefixes)).join("  ");
      return make("p", { className }, `${sign} `, make("bdi", {}, text.slice(0, LONGEST)));
    });
    const rest = bindings.length - shown.length;
    if (rest > 0) shown.push(make("p", { className }, `${sign} ${rest.toLocaleString("en")} more`));
    return shown;
  }
}
