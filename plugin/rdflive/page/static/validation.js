/** The live validation results of the server's shapes, by shape and focus node. */

import { SHAPES_ARE_IDLE } from "./about.js";
import { announceChange } from "./announce.js";
import { Answer } from "./answer.js";
import { Connection } from "./connection.js";
import { byId, counted, make } from "./elements.js";
import { isExplorable } from "./explore.js";
import { keyOf } from "./pairs.js";
import { localName, partsOf } from "./results.js";
import { keep, kept } from "./storage.js";
import { Stream } from "./stream.js";
import { elementOf, prefixesOf, textOf } from "./terms.js";

/** @typedef {import("./answer.js").Row} Row */
/** @typedef {import("./terms.js").Term} Term */
/** @typedef {{term: Term, rows: Row[]}} Focus */
/** @typedef {{element: HTMLLIElement, list: HTMLUListElement}} FocusEntry */
/** @typedef {{element: HTMLDetailsElement, name: HTMLElement, facts: HTMLElement, list: HTMLUListElement, rest: HTMLElement,
 *   foci: Map<string, FocusEntry>}} ShapeEntry */

const KEPT = "rdflive.validation";
/** Milliseconds between two drawings. */
const PACE = 60;
/** The most shown shapes, focus nodes of a shape, and results of a focus node. */
const SHAPES = 50;
const FOCI = 30;
const RESULTS = 20;

const IDLE = "Nothing is validated: no shape has both a target and an active constraint";
const PREFIXES = prefixesOf("");

/** Follows the validation while the page is open. */
export class Validation {
  #answer = new Answer();
  #stream;
  #connection;
  #onExplore;
  /** @type {Map<string, ShapeEntry>} */ #shapes = new Map();
  #place = byId("validation-results");
  #timer = 0;
  #sequence = 0;
  #changed = "";

  /** @param {(term: Term) => void} onExplore */
  constructor(onExplore) {
    this.#onExplore = onExplore;
    this.#stream = new Stream(null, {
      onEvent: (type, event) => this.#take(type, event),
      onState: (state) => this.#connection.show(state),
    });
    this.#connection = new Connection("Validation", () => this.#stream.retry());
    byId("validation-facts").after(this.#connection.element);
    byId("validation").append(this.#connection.details);
    const fold = /** @type {HTMLDetailsElement} */ (byId("validation-fold"));
    fold.open = kept("localStorage", KEPT) === true;
    fold.addEventListener("toggle", () => keep("localStorage", KEPT, fold.open));
    byId("validation").hidden = false;
    this.#place.addEventListener("keydown", (event) => this.#goOn(event));
    this.#place.addEventListener("focusin", ({ target }) => {
      if (target instanceof HTMLButtonElement) this.#stopAt(target);
    });
  }

  /** Starts to follow. */
  run() {
    void this.#stream.run();
  }

  /**
   * @param {string} type
   * @param {any} event
   */
  #take(type, event) {
    if (type !== "initial" && type !== "update") return;
    const isFirst = this.#answer.isEmpty;
    const change = type === "initial" ? this.#answer.begin(event) : this.#answer.take(event);
    this.#sequence = event.sequence;
    if (!isFirst && (change.added.length || change.removed.length)) {
      this.#changed = new Date().toLocaleTimeString();
      announceChange("Validation", change, counted(this.#answer.size, "result"), "result");
    }
    this.#timer ||= setTimeout(() => this.#draw(), PACE);
  }

  #draw() {
    this.#timer = 0;
    const isMarked = this.#answer.settle();
    const groups = this.#grouped();
    byId("validation-facts").textContent = this.#facts(groups).join(" · ");
    this.#place.hidden = groups.length === 0;
    const focused = this.#place.contains(document.activeElement) ? document.activeElement : null;
    const entries = groups.slice(0, SHAPES).map(({ key, name, foci }) => {
      const entry = this.#shapes.get(key) ?? this.#shape(key);
      entry.name.textContent = name;
      this.#drawShape(entry, foci);
      return entry.element;
    });
    keepInOrder(this.#place, entries);
    for (const [key, { element }] of this.#shapes) if (!element.isConnected) this.#shapes.delete(key);
    const rest = byId("validation-rest");
    rest.hidden = groups.length <= SHAPES;
    rest.textContent = `and ${counted(groups.length - SHAPES, "more shape")}`;
    if (focused && focused !== document.activeElement) {
      const there = focused instanceof HTMLElement && focused.isConnected ? focused : this.#place;
      there.focus({ preventScroll: true });
    }
    const buttons = this.#buttons();
    if (!buttons.some((button) => button.tabIndex === 0)) this.#stopAt(buttons[0] ?? null);
    if (isMarked) this.#timer = setTimeout(() => this.#draw(), 400);
  }

  /** @param {ReturnType<Validation["#grouped"]>} groups */
  #facts(groups) {
    const rows = [...this.#answer.rows.values()].filter((row) => row.count > 0);
    if (rows.length === 0) return [SHAPES_ARE_IDLE ? IDLE : "Conforms", ...this.#when()];
    const bySeverity = new Map();
    for (const { binding, count } of rows) {
      const name = localName(binding.severity);
      bySeverity.set(name, (bySeverity.get(name) ?? 0) + count);
    }
    const severities = [...bySeverity].sort().map(([name, count]) => counted(count, name.toLowerCase()));
    const nodes = new Set(rows.map(({ binding }) => keyOf(binding, ["focus"]))).size;
    const shapes = groups.filter(({ foci }) => [...foci.values()].some(isThere)).length;
    return [severities.join(", "), counted(shapes, "shape"), counted(nodes, "focus node"), ...this.#when()];
  }

  #when() {
    return [`sequence ${this.#sequence}`, ...(this.#changed ? [`last change ${this.#changed}`] : [])];
  }

  /** Returns the results by shape and focus node, sorted by name. */
  #grouped() {
    /** @type {Map<string, {key: string, name: string, foci: Map<string, Focus>}>} */
    const groups = new Map();
    for (const row of this.#answer.rows.values()) {
      const { shape, path, component, focus } = row.binding;
      // a shape without a name is named by its path or component
      const about = path?.type === "uri" ? path : component;
      const name = shape.type === "uri" ? textOf(shape, PREFIXES) : `Shape of ${textOf(about, PREFIXES)}`;
      const key = keyOf(row.binding, ["shape"]);
      const group = groups.get(key) ?? { key, name, foci: new Map() };
      groups.set(key, group);
      const node = keyOf(row.binding, ["focus"]);
      const found = group.foci.get(node) ?? { term: focus, rows: [] };
      group.foci.set(node, found);
      found.rows.push(row);
    }
    return [...groups.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.key < b.key ? -1 : 1));
  }

  /** @param {string} key @returns {ShapeEntry} */
  #shape(key) {
    const name = make("span", { className: "uri" });
    const facts = make("span", { className: "quiet" });
    const list = make("ul", { className: "foci" });
    const rest = make("p", { className: "quiet", hidden: true });
    const summary = make("summary", {}, name, " ", facts);
    const element = make("details", { open: true }, summary, list, rest);
    const entry = { element, name, facts, list, rest, foci: new Map() };
    this.#shapes.set(key, entry);
    return entry;
  }

  /**
   * @param {ShapeEntry} entry
   * @param {Map<string, Focus>} foci
   */
  #drawShape(entry, foci) {
    const there = [...foci.values()].filter(isThere);
    const results = there.reduce((sum, { rows }) => sum + rows.reduce((all, { count }) => all + count, 0), 0);
    entry.facts.textContent = `${counted(results, "result")} at ${counted(there.length, "focus node")}`;
    const sorted = [...foci].map(([key, focus]) => ({ key, focus, text: textOf(focus.term, PREFIXES) }));
    sorted.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
    const elements = sorted.slice(0, FOCI).map(({ key, focus }) => {
      const made = entry.foci.get(key) ?? this.#focus(focus.term);
      entry.foci.set(key, made);
      made.list.replaceChildren(...resultsOf(focus.rows));
      return made.element;
    });
    keepInOrder(entry.list, elements);
    for (const [key, { element }] of entry.foci) if (!element.isConnected && !elements.includes(element)) entry.foci.delete(key);
    entry.rest.hidden = sorted.length <= FOCI;
    entry.rest.textContent = `and ${counted(sorted.length - FOCI, "more focus node")}`;
  }

  /** @param {Term} term @returns {FocusEntry} */
  #focus(term) {
    const list = make("ul", { className: "results" });
    const shown = elementOf(term, PREFIXES);
    if (!isExplorable(term)) return { element: make("li", {}, shown, list), list };
    const title = [shown.title, "Explore this node"].filter(Boolean).join("\n");
    shown.title = "";
    const button = make("button", { type: "button", className: "node", tabIndex: -1, title }, shown);
    button.addEventListener("click", () => this.#onExplore(term));
    return { element: make("li", {}, button, list), list };
  }

  /** @returns {HTMLButtonElement[]} */
  #buttons() {
    return [...this.#place.querySelectorAll("button")];
  }

  /** Makes a node the stop of Tab; all nodes together are one stop. @param {HTMLButtonElement | null} button */
  #stopAt(button) {
    for (const other of this.#buttons()) other.tabIndex = other === button ? 0 : -1;
  }

  /** Moves the focus to the node above or below. @param {KeyboardEvent} event */
  #goOn(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step || !(event.target instanceof HTMLButtonElement)) return;
    event.preventDefault();
    const seen = this.#buttons().filter((button) => button.checkVisibility());
    seen[seen.indexOf(event.target) + step]?.focus();
  }
}

/** @param {Focus} focus */
function isThere({ rows }) {
  return rows.some(({ count }) => count > 0);
}

/** @param {Row[]} rows */
function resultsOf(rows) {
  const shown = rows.slice(0, RESULTS).map(({ binding, mark, count }) => {
    const sign = { came: "+ ", went: "− ", changed: "", "": "" }[mark];
    return make("li", { className: count === 0 ? `${mark} gone` : mark }, sign, ...partsOf(binding, PREFIXES));
  });
  const rest = rows.length - shown.length;
  if (rest > 0) shown.push(make("li", { className: "quiet" }, `and ${counted(rest, "more result")}`));
  return shown;
}

/**
 * Makes elements the children without moving those in place, as a moved element loses the focus.
 * @param {HTMLElement} parent
 * @param {HTMLElement[]} elements
 */
function keepInOrder(parent, elements) {
  const wanted = new Set(elements);
  for (const child of [...parent.children]) if (!wanted.has(/** @type {HTMLElement} */ (child))) child.remove();
  let place = parent.firstElementChild;
  for (const element of elements) {
    if (element === place) place = element.nextElementSibling;
    else parent.insertBefore(element, place);
  }
}
