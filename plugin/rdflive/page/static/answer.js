/** The answer of a query, updated by the events of its stream: a bag of rows with marks of recent changes. */

import { difference, keyOf, paired } from "./pairs.js";
import { Misfit } from "./stream.js";

/** @typedef {import("./terms.js").Binding} Binding */
/** @typedef {import("./pairs.js").Change} Change */
/** @typedef {"" | "came" | "went" | "changed"} Mark */
/**
 * @typedef {{key: string, binding: Binding, count: number, arrival: number, place: number, mark: Mark,
 *   was: Binding | null, until: number, words: string}} Row `was` is a changed row before the change; the
 *   table sets `words`
 */

/** Milliseconds for which a row is marked as added or removed. */
export const MARKED = 1600;

/**
 * Keeps the rows, and recently removed ones with the count 0. A row that changes, by the key of the answer,
 * stays the same object.
 */
export class Answer {
  form = "";
  /** @type {string[]} */ vars = [];
  /** @type {boolean | null} */ boolean = null;
  /** @type {Map<string, Row>} */ rows = new Map();
  /** The number of rows, with duplicates. */
  size = 0;
  /** The variables that identify rows, null if unknown. @type {string[] | null} */ key = null;
  #arrivals = 0;
  #places = 0;
  /** @type {Map<string, Row>} */ #marked = new Map();

  /** True before the first answer. */
  get isEmpty() {
    return this.form === "";
  }

  /**
   * Takes a full answer and returns the difference from the last one; the first one marks nothing.
   * @param {any} event
   * @returns {Change}
   */
  begin(event) {
    const isFirst = this.isEmpty;
    this.form = event.form;
    this.vars = event.head?.vars ?? [];
    this.boolean = event.boolean ?? null;
    const { added, removed } = difference(this.rows, event.added ?? [], this.vars);
    const change = this.#apply(added, removed, isFirst);
    this.size = event.added?.length ?? 0; // correct also after a misfit
    return change;
  }

  /**
   * Takes a delta; throws `Misfit` for the removal of a missing row.
   * @param {any} event
   * @returns {Change}
   */
  take(event) {
    if ("boolean" in event) this.boolean = event.boolean;
    // pairs of the server are paired again, as the key may have changed
    const { added = [], removed = [], changed = [] } = event;
    const olds = changed.map((/** @type {import("./pairs.js").Pair} */ pair) => pair.old);
    const news = changed.map((/** @type {import("./pairs.js").Pair} */ pair) => pair.new);
    return this.#apply([...added, ...news], [...removed, ...olds], false);
  }

  /** Removes expired marks, and removed rows; returns true if any marks are left. */
  settle(now = Date.now()) {
    for (const [key, row] of this.#marked) {
      if (row.until > now) continue;
      this.#marked.delete(key);
      row.mark = "";
      row.was = null;
      if (row.count === 0) this.rows.delete(key);
    }
    return this.#marked.size > 0;
  }

  /** Yields every row, with duplicates. */
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
    const change = isFirst ? { added, removed, changed: [] } : paired(added, removed, this.key);
    const split = change.changed.filter((pair) => !this.#turn(pair, until));
    for (const binding of [...change.removed, ...split.map((pair) => pair.old)]) {
      const row = this.rows.get(keyOf(binding, this.vars));
      if (!row || row.count === 0) throw new Misfit("a missing row was removed");
      row.count -= 1;
      this.#mark(row, "went", until);
    }
    if (!isFirst) this.#arrivals += 1;
    for (const binding of [...change.added, ...split.map((pair) => pair.new)]) {
      const row = this.#row(keyOf(binding, this.vars), binding);
      row.count += 1;
      if (!isFirst) this.#mark(row, "came", until);
    }
    this.size += added.length - removed.length;
    return change;
  }

  /**
   * Turns an old row into the new one of its key; returns false unless both rows are single.
   * @param {import("./pairs.js").Pair} pair
   * @param {number} until
   */
  #turn(pair, until) {
    const row = this.rows.get(keyOf(pair.old, this.vars));
    const key = keyOf(pair.new, this.vars);
    const other = this.rows.get(key);
    if (row?.count !== 1 || (other && other.count > 0)) return false;
    if (other) this.#marked.delete(key);
    this.rows.delete(row.key);
    this.#marked.delete(row.key);
    Object.assign(row, { key, binding: pair.new, was: pair.old, words: "" });
    this.rows.set(key, row);
    this.#mark(row, "changed", until);
    return true;
  }

  /**
   * @param {string} key
   * @param {Binding} binding
   */
  #row(key, binding) {
    let row = this.rows.get(key);
    if (!row) {
      const place = this.#places++;
      const arrival = this.#arrivals;
      row = { key, binding, count: 0, arrival, place, mark: "", was: null, until: 0, words: "" };
      this.rows.set(key, row);
    }
    return row;
  }

  /**
   * @param {Row} row
   * @param {Mark} mark
   * @param {number} until
   */
  #mark(row, mark, until) {
    if (mark !== "changed") row.was = null;
    row.mark = mark;
    row.until = until;
    this.#marked.set(row.key, row);
  }
}
