/** The triples of an answer as a picture of nodes and arrows. The table has the same as text. */

import { button, counted, cut, make } from "./elements.js";
import { isExplorable } from "./explore.js";
import { keyOf } from "./pairs.js";
import { textOf } from "./terms.js";

/** @typedef {import("./answer.js").Answer} Answer */
/** @typedef {import("./answer.js").Row} Row */
/** @typedef {import("./terms.js").Term} Term */

/** The most triples in a picture: with more, labels are unreadable. */
const TRIPLES = 150;
const LONGEST = 28;
const COLOURS = [
  ...["text", "quiet", "card", "edge", "accent", "on-accent", "tint", "code-iri", "code-literal"],
  ...["came", "came-text", "went", "went-text"],
];

/** Returns true if the package contains the drawing library. */
export function canDraw() {
  return Boolean(document.body.dataset.graph);
}

/** Draws an answer of triples; the drawing library is loaded when the picture is first shown. */
export class GraphPicture {
  #answer;
  #prefixes;
  #centre;
  #onExplore;
  #canvas = make("div", { className: "canvas", role: "img" });
  #note = make("p", { className: "quiet drawn" });
  /** @type {any} */ #picture = null;
  #isLoading = false;
  #isClosed = false;
  /** The drawn rows, in order. @type {Set<Row>} */ #rows = new Set();
  /** @type {Map<string, Term>} */ #terms = new Map();
  #scheme = matchMedia("(prefers-color-scheme: dark)");
  #dress = () => this.#picture?.dress(this.#look());

  /**
   * @param {Answer} answer
   * @param {import("./terms.js").Prefixes} prefixes
   * @param {{centre: Term | null, onExplore: (term: Term) => void}} options
   */
  constructor(answer, prefixes, { centre, onExplore }) {
    this.#answer = answer;
    this.#prefixes = prefixes;
    this.#centre = centre && idOf(centre);
    this.#onExplore = onExplore;
    const named = (/** @type {string} */ title) => ({ "aria-label": title, title });
    const buttons = [
      button("+", () => this.#picture?.zoom(1.3), named("Larger")),
      button("−", () => this.#picture?.zoom(1 / 1.3), named("Smaller")),
      button("Fit", () => this.#picture?.fit(), named("Fit to view")),
    ];
    const frame = make("div", { className: "picture" }, this.#canvas, make("div", { className: "zoom" }, ...buttons));
    this.element = make("div", {}, frame, this.#note);
    this.#scheme.addEventListener("change", this.#dress);
  }

  /** Updates the picture, once the library is loaded. */
  draw() {
    if (!this.#picture) return void this.#load();
    const rows = this.#chosen();
    const nodes = new Map();
    const edges = [];
    this.#terms.clear();
    for (const row of rows) {
      const { subject, predicate, object } = row.binding;
      const ids = [idOf(subject), isNode(object) ? idOf(object) : `literal ${row.key}`];
      [subject, object].forEach((term, i) => this.#addNode(nodes, ids[i], term, row.mark));
      const label = cut(textOf(predicate, this.#prefixes), LONGEST);
      edges.push({ id: `edge ${row.key}`, source: ids[0], target: ids[1], label, mark: row.mark });
    }
    this.#picture.show([...nodes.values()], edges);
    this.#say(nodes.size, rows.length);
  }

  /** Frees the picture. */
  close() {
    this.#isClosed = true;
    this.#scheme.removeEventListener("change", this.#dress);
    this.#picture?.close();
  }

  async #load() {
    if (this.#isLoading) return;
    this.#isLoading = true;
    this.#note.textContent = "Loading …";
    try {
      const { makePicture } = await import(`./${document.body.dataset.graph}`);
      if (this.#isClosed) return;
      const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
      const onChoose = (/** @type {string} */ id) => this.#choose(id);
      this.#picture = makePicture({ parent: this.#canvas, look: this.#look(), isStill, onChoose });
      this.draw();
    } catch (error) {
      this.#note.textContent = `Could not load the picture: ${error instanceof Error ? error.message : error}`;
      this.#isLoading = false;
    }
  }

  /** Returns the rows to draw: drawn rows stay, and others fill the free places. */
  #chosen() {
    for (const row of this.#rows) if (this.#answer.rows.get(row.key) !== row) this.#rows.delete(row);
    for (const row of this.#answer.rows.values()) {
      if (this.#rows.size >= TRIPLES) break;
      this.#rows.add(row);
    }
    return [...this.#rows];
  }

  /**
   * Adds a node; it is marked only if all its triples have the same mark.
   * @param {Map<string, any>} nodes
   * @param {string} id
   * @param {Term} term
   * @param {string} mark
   */
  #addNode(nodes, id, term, mark) {
    const known = nodes.get(id);
    if (known) {
      if (known.mark !== mark) known.mark = "";
      return;
    }
    const title = term.type === "uri" ? term.value : textOf(term, this.#prefixes);
    const label = cut(textOf(term, this.#prefixes), LONGEST);
    const isCentre = id === this.#centre;
    nodes.set(id, { id, label, title, kind: term.type, mark: isCentre ? "" : mark, isCentre });
    this.#terms.set(id, term);
  }

  /**
   * @param {number} nodes
   * @param {number} drawn
   */
  #say(nodes, drawn) {
    const all = this.#answer.rows.size;
    this.#canvas.ariaLabel = `Picture of ${counted(nodes, "node")} and ${counted(drawn, "triple")}; the table has the text`;
    if (all === 0) this.#note.textContent = "No triples.";
    else if (all > drawn) this.#note.textContent = `${drawn} of ${counted(all, "triple")} drawn; the table has more.`;
    else this.#note.textContent = "";
  }

  /** @param {string} id */
  #choose(id) {
    const term = this.#terms.get(id);
    if (term && isExplorable(term) && id !== this.#centre) this.#onExplore(term);
  }

  #look() {
    const style = getComputedStyle(this.#canvas);
    return Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }
}

/** Returns true if all occurrences of a term are one node; each literal is its own node. @param {Term} term */
function isNode(term) {
  return term.type === "uri" || term.type === "bnode";
}

/** @param {Term} term */
function idOf(term) {
  return keyOf({ term }, ["term"]);
}
