/** The answer of a SELECT or CONSTRUCT as a table, of which only the first rows and columns are in the page. */

import { counted, make } from "./elements.js";
import { elementOf, rankOf, textOf } from "./terms.js";

/** @typedef {import("./answer.js").Row} Row */
/** @typedef {import("./answer.js").Answer} Answer */

/** How many rows and columns are shown, and cells in all: a browser must lay out every one of them. */
const ROWS = 500;
const COLUMNS = 50;
const CELLS = 20_000;
const SIGNS = { "": "", came: "+", went: "−" };

/** Shows the rows that fit the filter: the latest on top, or sorted by a column. */
export class AnswerTable {
  #answer;
  #prefixes;
  #body = make("tbody");
  #head = make("tr");
  #note = make("p", { className: "quiet note" });
  #filter = make("input", { type: "search", autocomplete: "off", spellcheck: false });
  /** @type {Map<string, {element: HTMLTableRowElement, shown: string}>} */ #rows = new Map();
  /** @type {{name: string, down: boolean} | null} */ #sort = null;

  /**
   * @param {Answer} answer
   * @param {import("./terms.js").Prefixes} prefixes
   * @param {{title: string, onChoice: () => void}} options `onChoice` is for a filter or an order
   */
  constructor(answer, prefixes, { title, onChoice }) {
    this.#answer = answer;
    this.#prefixes = prefixes;
    this.onChoice = onChoice;
    this.#filter.addEventListener("input", onChoice);
    this.filter = make("label", { className: "filter" }, "Filter ", this.#filter);
    const caption = make("caption", { className: "unseen" }, `Answer of ${title}`);
    const table = make("table", {}, caption, make("thead", {}, this.#head), this.#body);
    const scroller = make(
      "div",
      { className: "scroller", tabIndex: 0, role: "region", "aria-label": `Answer of ${title}` },
      table,
    );
    this.element = make("div", {}, scroller, this.#note);
  }

  /** Brings the page's rows up to date. */
  draw() {
    if (this.#head.childElementCount === 0) this.#drawHead();
    const rows = this.#found();
    const first = rows.slice(0, this.#most());
    const wanted = new Set(first.map((row) => row.key));
    for (const [key, { element }] of this.#rows) {
      if (!wanted.has(key)) {
        element.remove();
        this.#rows.delete(key);
      }
    }
    let place = this.#body.firstElementChild;
    for (const row of first) {
      const element = this.#drawn(row);
      if (element === place) place = element.nextElementSibling;
      else this.#body.insertBefore(element, place);
    }
    this.#note.textContent = this.#noteOf(rows.length);
  }

  /** Gives the names of the columns that are shown. */
  #columns() {
    return this.#answer.vars.slice(0, COLUMNS);
  }

  /** Gives how many rows are shown. */
  #most() {
    return Math.min(ROWS, Math.floor(CELLS / Math.max(1, this.#columns().length)));
  }

  /** @param {number} found */
  #noteOf(found) {
    const columns = this.#answer.vars.length;
    const rest = `The first ${COLUMNS} of ${counted(columns, "column")}; the filter looks at all, the download has all.`;
    return [this.#rowsNote(found), columns > COLUMNS ? rest : ""].filter(Boolean).join(" ");
  }

  /** @param {number} found */
  #rowsNote(found) {
    const all = this.#answer.rows.size;
    const most = this.#most();
    if (all === 0) return "No rows.";
    if (found === 0) return `None of ${counted(all, "row")} fits the filter.`;
    if (found > most) return `The first ${most} of ${counted(found, "row")}; filter to find others.`;
    return found < all ? `${counted(found, "row")} of ${all.toLocaleString("en")} fit the filter.` : "";
  }

  #found() {
    const words = this.#filter.value.trim().toLowerCase();
    const all = [...this.#answer.rows.values()];
    const rows = words ? all.filter((row) => this.#wordsOf(row).includes(words)) : all;
    return this.#sort ? this.#sorted(rows, this.#sort) : latestFirst(rows);
  }

  /**
   * @param {Row[]} rows
   * @param {{name: string, down: boolean}} sort
   */
  #sorted(rows, { name, down }) {
    const ranked = rows.map((row) => ({ row, rank: rankOf(row.binding[name]) }));
    const sign = down ? -1 : 1;
    ranked.sort(({ rank: [a, x] }, { rank: [b, y] }) => sign * (a - b || (x < y ? -1 : x > y ? 1 : 0)));
    return ranked.map(({ row }) => row);
  }

  /** @param {Row} row */
  #wordsOf(row) {
    row.words ||= this.#answer.vars
      .map((name) => `${textOf(row.binding[name], this.#prefixes)} ${row.binding[name]?.value ?? ""}`)
      .join(" ")
      .toLowerCase();
    return row.words;
  }

  /** Gives the element of a row, made or changed as need be. @param {Row} row */
  #drawn(row) {
    const shown = `${row.mark}${row.count}`;
    let entry = this.#rows.get(row.key);
    if (!entry) {
      const cells = this.#columns().map((name) =>
        make("td", {}, elementOf(row.binding[name], this.#prefixes)),
      );
      entry = { element: make("tr", {}, make("td", { className: "sign" }), ...cells), shown: "" };
      this.#rows.set(row.key, entry);
    }
    if (entry.shown !== shown) {
      entry.shown = shown;
      const times = row.count > 1 ? `×${row.count}` : "";
      entry.element.className = row.count === 0 ? `${row.mark} gone` : row.mark;
      entry.element.cells[0].textContent = SIGNS[row.mark] + times;
    }
    return entry.element;
  }

  #drawHead() {
    const sign = make("th", { scope: "col", className: "sign" });
    sign.append(make("span", { className: "unseen" }, "came or went, how often"));
    this.#head.append(sign, ...this.#columns().map((name) => this.#column(name)));
  }

  /** @param {string} name */
  #column(name) {
    const button = make("button", { type: "button" }, make("bdi", {}, `?${name}`));
    const cell = make("th", { scope: "col" }, button);
    button.addEventListener("click", () => {
      const now = this.#sort?.name === name ? this.#sort : null;
      this.#sort = !now ? { name, down: false } : now.down ? null : { name, down: true };
      for (const other of this.#head.cells) other.removeAttribute("aria-sort");
      if (this.#sort) cell.setAttribute("aria-sort", this.#sort.down ? "descending" : "ascending");
      this.onChoice();
    });
    return cell;
  }
}

/** Orders rows by when they came, the latest first, and those of one delta as they came. @param {Row[]} rows */
function latestFirst(rows) {
  const early = rows.filter((row) => row.arrival === 0);
  const late = rows.filter((row) => row.arrival > 0).sort((a, b) => b.arrival - a.arrival);
  return [...late, ...early];
}
