/** The answer of a SELECT or CONSTRUCT as a table of its first rows and columns. */

import { withEdges } from "./edges.js";
import { button, counted, make } from "./elements.js";
import { isExplorable } from "./explore.js";
import { keyOf, termOf } from "./pairs.js";
import { elementOf, rankOf, textOf } from "./terms.js";

/** @typedef {import("./answer.js").Row} Row */
/** @typedef {import("./answer.js").Answer} Answer */
/** @typedef {import("./terms.js").Binding} Binding */
/**
 * @typedef {{element: HTMLTableRowElement, shown: string, binding: Binding | null, was: Binding | null}} Entry
 *   `binding` and `was` are those shown in the cells
 */

/** The most rows, columns and cells in the page, all of which a browser must lay out. */
const ROWS = 500;
const COLUMNS = 50;
const CELLS = 20_000;
const SIGNS = { "": "", came: "+", went: "−", changed: "~" };

/**
 * Shows the rows that match the filter: the latest on top, or sorted by a column. Nodes are buttons that explore
 * them; together they are one stop of Tab, and arrow keys move between them.
 */
export class AnswerTable {
  #answer;
  #prefixes;
  #body = make("tbody");
  #head = make("tr");
  #note = make("p", { className: "quiet note" });
  #filter = make("input", { type: "search", autocomplete: "off", spellcheck: false });
  #scroller;
  /** @type {Map<Row, Entry>} */ #rows = new Map();
  /** @type {HTMLButtonElement | null} */ #stop = null;
  /** @type {{name: string, down: boolean} | null} */ #sort = null;

  /**
   * @param {Answer} answer
   * @param {import("./terms.js").Prefixes} prefixes
   * @param {{title: string, onChoice: () => void, onExplore: (term: import("./terms.js").Term) => void}} options
   *   `onChoice` is called after a change of filter or order
   */
  constructor(answer, prefixes, { title, onChoice, onExplore }) {
    this.#answer = answer;
    this.#prefixes = prefixes;
    this.onChoice = onChoice;
    this.onExplore = onExplore;
    this.#filter.addEventListener("input", onChoice);
    this.filter = make("label", { className: "filter" }, "Filter ", this.#filter);
    const caption = make("caption", { className: "unseen" }, `Answer of ${title}`);
    const table = make("table", {}, caption, make("thead", {}, this.#head), this.#body);
    this.#body.addEventListener("keydown", (event) => this.#goOn(event));
    this.#body.addEventListener("focusin", ({ target }) => {
      if (target instanceof HTMLButtonElement) this.#stopAt(target);
    });
    this.#scroller = make(
      "div",
      { className: "scroller", tabIndex: 0, role: "region", "aria-label": `Answer of ${title}` },
      table,
    );
    this.element = make("div", {}, withEdges(this.#scroller), this.#note);
  }

  /** The first shown row that has just changed. */
  get lastChanged() {
    return this.#body.querySelector("tr:is(.came, .changed)") ?? this.#body.querySelector("tr.went");
  }

  /** Updates the rows in the page. */
  draw() {
    if (this.#head.childElementCount === 0) this.#drawHead();
    const rows = this.#found();
    const first = rows.slice(0, this.#most());
    const wanted = new Set(first);
    const focused = this.#body.contains(document.activeElement) ? document.activeElement : null;
    for (const [row, { element }] of this.#rows) {
      if (!wanted.has(row)) {
        element.remove();
        this.#rows.delete(row);
      }
    }
    let place = this.#body.firstElementChild;
    for (const row of first) {
      const element = this.#drawn(row);
      if (element === place) place = element.nextElementSibling;
      else this.#body.insertBefore(element, place);
    }
    this.#keepFocus(focused);
    this.#note.textContent = this.#noteOf(rows.length);
  }

  /** Returns the focus to a moved element, or to the table if the element is gone. @param {Element | null} focused */
  #keepFocus(focused) {
    if (focused && focused !== document.activeElement) {
      const place = focused instanceof HTMLElement && focused.isConnected ? focused : this.#scroller;
      place.focus({ preventScroll: true });
    }
    if (!this.#stop?.isConnected) this.#stopAt(this.#body.querySelector("button"));
  }

  /** Makes a node the stop of Tab. @param {HTMLButtonElement | null} node */
  #stopAt(node) {
    if (this.#stop) this.#stop.tabIndex = -1;
    this.#stop = node;
    if (node) node.tabIndex = 0;
  }

  /** Moves the focus to the next node of the row or column. @param {KeyboardEvent} event */
  #goOn(event) {
    const node = event.target;
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (!step || !(node instanceof HTMLButtonElement)) return;
    const column = node.closest("td")?.cellIndex ?? 0;
    const isSideways = event.key === "ArrowLeft" || event.key === "ArrowRight";
    const among = isSideways ? "button" : `td:nth-child(${column + 1}) button`;
    const all = [...this.#body.querySelectorAll(among)];
    const next = all[all.indexOf(node) + step];
    event.preventDefault(); // also at the end: the table must not scroll away
    if (next instanceof HTMLButtonElement) next.focus();
  }

  /** Returns the names of the shown columns. */
  #columns() {
    return this.#answer.vars.slice(0, COLUMNS);
  }

  /** Returns the most shown rows. */
  #most() {
    return Math.min(ROWS, Math.floor(CELLS / Math.max(1, this.#columns().length)));
  }

  /** @param {number} found */
  #noteOf(found) {
    const columns = this.#answer.vars.length;
    const rest = `First ${COLUMNS} of ${counted(columns, "column")}; filter and downloads use all.`;
    return [this.#rowsNote(found), columns > COLUMNS ? rest : ""].filter(Boolean).join(" ");
  }

  /** @param {number} found */
  #rowsNote(found) {
    const all = this.#answer.rows.size;
    const most = this.#most();
    if (all === 0) return "No rows.";
    if (found === 0) return "No matching rows.";
    if (found > most) return `First ${most} of ${counted(found, "row")}; filter to find others.`;
    return found < all ? `${found.toLocaleString("en")} of ${counted(all, "row")} match.` : "";
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
    const ranked = rows.map((row) => ({ row, rank: rankOf(termOf(row.binding, name)) }));
    const sign = down ? -1 : 1;
    ranked.sort(({ rank: [a, x] }, { rank: [b, y] }) => sign * (a - b || (x < y ? -1 : x > y ? 1 : 0)));
    return ranked.map(({ row }) => row);
  }

  /** @param {Row} row */
  #wordsOf(row) {
    row.words ||= this.#answer.vars
      .map((name) => termOf(row.binding, name))
      .map((term) => `${textOf(term, this.#prefixes)} ${term?.value ?? ""}`)
      .join(" ")
      .toLowerCase();
    return row.words;
  }

  /** Returns the element of a row, made or updated. @param {Row} row */
  #drawn(row) {
    const shown = `${row.mark}${row.count}`;
    let entry = this.#rows.get(row);
    if (!entry) {
      const cells = this.#columns().map(() => make("td"));
      entry = { element: make("tr", {}, make("td", { className: "sign" }), ...cells), shown: "", binding: null, was: null };
      this.#rows.set(row, entry);
    }
    if (entry.shown !== shown) {
      entry.shown = shown;
      const times = row.count > 1 ? `×${row.count}` : "";
      entry.element.className = row.count === 0 ? `${row.mark} gone` : row.mark;
      entry.element.cells[0].textContent = SIGNS[row.mark] + times;
    }
    this.#drawCells(row, entry);
    return entry.element;
  }

  /**
   * Draws the changed cells.
   * @param {Row} row
   * @param {Entry} entry
   */
  #drawCells({ binding, was }, entry) {
    const drawn = entry.binding;
    const drawnWas = entry.was;
    if (drawn === binding && drawnWas === was) return;
    this.#columns().forEach((name, i) => {
      const isPlain = !differs(was, binding, name) && !differs(drawnWas, drawn, name);
      if (drawn && isPlain && !differs(drawn, binding, name)) return; // an unchanged cell may have the focus
      const now = this.#node(termOf(binding, name));
      if (!was || !differs(was, binding, name)) return entry.element.cells[i + 1].replaceChildren(now);
      const old = make("del", {}, elementOf(termOf(was, name), this.#prefixes));
      entry.element.cells[i + 1].replaceChildren(old, " → ", make("ins", {}, now));
    });
    entry.binding = binding;
    entry.was = was;
  }

  /** Returns the element of a term, a button if it can be explored. @param {import("./terms.js").Term | undefined} term */
  #node(term) {
    const shown = elementOf(term, this.#prefixes);
    if (!term || !isExplorable(term)) return shown;
    const title = [shown.title, "Explore this node"].filter(Boolean).join("\n");
    shown.removeAttribute("title"); // an empty title would hide that of the button
    return button(shown, () => this.onExplore(term), { className: "node", tabIndex: -1, title });
  }

  #drawHead() {
    const sign = make("th", { scope: "col", className: "sign" });
    sign.append(make("span", { className: "unseen" }, "added or removed, multiplicity"));
    this.#head.append(sign, ...this.#columns().map((name) => this.#column(name)));
  }

  /** @param {string} name */
  #column(name) {
    const sort = () => {
      const now = this.#sort?.name === name ? this.#sort : null;
      this.#sort = !now ? { name, down: false } : now.down ? null : { name, down: true };
      for (const other of this.#head.cells) other.removeAttribute("aria-sort");
      if (this.#sort) cell.setAttribute("aria-sort", this.#sort.down ? "descending" : "ascending");
      this.onChoice();
    };
    const cell = make("th", { scope: "col" }, button(make("bdi", {}, `?${name}`), sort));
    return cell;
  }
}

/**
 * Returns true if two rows have different terms for a variable; false if a row is null.
 * @param {Binding | null} a
 * @param {Binding | null} b
 * @param {string} name
 */
function differs(a, b, name) {
  return a !== null && b !== null && keyOf(a, [name]) !== keyOf(b, [name]);
}

/** Sorts rows by arrival, the latest first, and those of one delta in its order. @param {Row[]} rows */
function latestFirst(rows) {
  return rows.sort((a, b) => b.arrival - a.arrival || a.place - b.place);
}
