/** The answer of a query, as the events of its stream make it: a bag of rows that remembers what moved. */

import { Misfit } from "./stream.js";

/** @typedef {import("./terms.js").Binding} Binding */
/**
 * @typedef {{key: string, binding: Binding, count: number, arrival: number, mark: "" | "came" | "went",
 *   until: number, words: string}} Row `words` is for the table, which fills it
 */

/** Milliseconds for which a row shows that it came or went. */
export const MARKED = 1600;

/** Keeps the rows, also those that went a moment ago: they have the count 0. */
export class Answer {
  form = "";
  /** @type {string[]} */ vars = [];
  /** @type {boolean | null} */ boolean = null;
  /** @type {Map<string, Row>} */ rows = new Map();
  /** How many rows there are, each as often as it counts. */
  size = 0;
  #arrivals = 0;
  /** @type {Map<string, Row>} */ #marked = new Map();

  /** True before the first answer has come. */
  get isEmpty() {
    return this.form === "";
  }

  /**
   * Takes a whole answer and gives the difference from what was there; the first one marks nothing.
   * @param {any} event
   * @returns {{added: Binding[], removed: Binding[]}}
   */
  begin(event) {
    const isFirst = this.isEmpty;
    this.form = event.form;
    this.vars = event.head?.vars ?? [];
    this.boolean = event.boolean ?? null;
    const missing = new Map([...this.rows].map(([key, row]) => [key, row.count]));
    const added = [];
    for (const binding of event.added ?? []) {
      const key = this.#key(binding);
      const left = missing.get(key) ?? 0;
      if (left > 0) missing.set(key, left - 1);
      else added.push(binding);
    }
    const removed = [];
    for (const [key, count] of missing) {
      for (let i = 0; i < count; i++) removed.push(/** @type {Row} */ (this.rows.get(key)).binding);
    }
    this.#apply(added, removed, isFirst);
    this.size = event.added?.length ?? 0; // right also after a misfit
    return { added, removed };
  }

  /**
   * Takes a delta; throws `Misfit` where it removes what is not there.
   * @param {any} event
   * @returns {{added: Binding[], removed: Binding[]}}
   */
  take(event) {
    if ("boolean" in event) this.boolean = event.boolean;
    const { added = [], removed = [] } = event;
    this.#apply(added, removed, false);
    return { added, removed };
  }

  /** Forgets the marks that are over by `now`, and the rows that went; tells whether any are left. */
  settle(now = Date.now()) {
    for (const [key, row] of this.#marked) {
      if (row.until > now) continue;
      this.#marked.delete(key);
      row.mark = "";
      if (row.count === 0) this.rows.delete(key);
    }
    return this.#marked.size > 0;
  }

  /** Gives every row as often as it counts. */
  *bindings() {
    for (const row of this.rows.values()) for (let i = 0; i < row.count; i++) yield row.binding;
  }

  /**
   * @param {Binding[]} added
   * @param {Binding[]} removed
   * @param {boolean} isFirst
   */
  #apply(added, removed, isFirst) {
    const until = Date.now() + MARKED;
    for (const binding of removed) {
      const row = this.rows.get(this.#key(binding));
      if (!row || row.count === 0) throw new Misfit("a row was removed that was not there");
      row.count -= 1;
      this.#mark(row, "went", until);
    }
    if (!isFirst) this.#arrivals += 1;
    for (const binding of added) {
      const row = this.#row(this.#key(binding), binding);
      row.count += 1;
      if (!isFirst) this.#mark(row, "came", until);
    }
    this.size += added.length - removed.length;
  }

  /**
   * @param {string} key
   * @param {Binding} binding
   */
  #row(key, binding) {
    let row = this.rows.get(key);
    if (!row) {
      row = { key, binding, count: 0, arrival: this.#arrivals, mark: "", until: 0, words: "" };
      this.rows.set(key, row);
    }
    return row;
  }

  /**
   * @param {Row} row
   * @param {"came" | "went"} mark
   * @param {number} until
   */
  #mark(row, mark, until) {
    row.mark = mark;
    row.until = until;
    this.#marked.set(row.key, row);
  }

  /** @param {Binding} binding */
  #key(binding) {
    return JSON.stringify(
      this.vars.map((name) => {
        const term = Object.hasOwn(binding, name) ? binding[name] : undefined;
        return term && [term.type, term.value, term["xml:lang"]?.toLowerCase(), term.datatype];
      }),
    );
  }
}
