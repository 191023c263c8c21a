/** The word at the end of an unfinished query, and its place in a pattern. */

import { IN_IRI, RDF_TYPE } from "./terms.js";

/** @typedef {{kind: string, text: string, start: number}} Token */
/** @typedef {"prefix" | "outside" | "subject" | "predicate" | "class" | "object" | "expression"} Slot */
/** @typedef {{word: string, slot: Slot}} Place */

const KINDS = [
  ["space", /\s+/y],
  ["comment", /#[^\n]*/y],
  ["string", /"""(?:[^\\]|\\[^])*?"""|'''(?:[^\\]|\\[^])*?'''/y],
  ["unclosed", /"""[^]*|'''[^]*/y],
  ["string", /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/y],
  ["unclosed", /["'][^\n]*/y],
  ["iri", new RegExp(`<${IN_IRI}*>`, "y")],
  ["opened", new RegExp(`<${IN_IRI}*$`, "y")],
  ["variable", /[?$][\p{L}\p{N}_]*/uy],
  ["name", /(?:[\p{L}](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_-])?)?:(?:[\p{L}\p{N}_:%](?:[\p{L}\p{N}_.:%-]*[\p{L}\p{N}_:%-])?)?/uy],
  ["blank", /_:[\p{L}\p{N}_.-]*/uy],
  ["tag", /@[A-Za-z-]*/y],
  ["number", /[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y],
  ["word", /[\p{L}_][\p{L}\p{N}_-]*/uy],
  ["mark", /\^\^|&&|\|\||[<>!]=|[^]/y],
];
const WORDS = new Set(["word", "name", "variable", "opened"]);
const WORDLESS = new Set(["comment", "unclosed", "tag", "number", "blank"]);
const TERMS = new Set(["iri", "name", "variable", "blank", "string", "number"]);

/**
 * Splits a text into tokens; unfinished parts are tokens too.
 * @param {string} text
 * @returns {Token[]}
 */
export function tokensOf(text) {
  const tokens = [];
  for (let start = 0; start < text.length; ) {
    const [kind, found] = next(text, start);
    if (kind !== "space") tokens.push({ kind, text: found, start });
    start += found.length;
  }
  return tokens;
}

/**
 * Returns the word at the end of a text, which may be empty, and its place; null where no word can be, such as in a
 * comment.
 * @param {string} text
 * @returns {Place | null}
 */
export function placeOf(text) {
  const tokens = tokensOf(text);
  const last = tokens.at(-1);
  const isAtEnd = last !== undefined && last.start + last.text.length === text.length;
  if (isAtEnd && WORDLESS.has(last.kind)) return null;
  const isWord = isAtEnd && WORDS.has(last.kind);
  const before = isWord ? tokens.slice(0, -1) : tokens;
  return { word: isWord ? last.text : "", slot: slotBehind(before) };
}

/**
 * @param {string} text
 * @param {number} start
 * @returns {[string, string]}
 */
function next(text, start) {
  for (const [kind, pattern] of /** @type {[string, RegExp][]} */ (KINDS)) {
    pattern.lastIndex = start;
    const found = pattern.exec(text);
    if (found) return [kind, found[0]];
  }
  throw new Error("every character is a mark at least");
}

/**
 * Returns the place after the tokens of a query.
 * @param {Token[]} tokens
 * @returns {Slot}
 */
function slotBehind(tokens) {
  const walk = new Walk();
  for (const token of tokens) walk.take(token);
  return walk.slot;
}

/** The place in a query, which may be invalid. */
class Walk {
  /** @type {Slot} */ #inGroup = "subject";
  /** @type {Slot[]} */ #outer = [];
  #groups = 0;
  #parentheses = 0;
  #isType = false;
  #isPrefix = false;

  /** @returns {Slot} */
  get slot() {
    if (this.#isPrefix) return "prefix";
    if (this.#parentheses) return "expression";
    if (!this.#groups) return "outside";
    return this.#inGroup === "object" && this.#isType ? "class" : this.#inGroup;
  }

  /** @param {Token} token */
  take({ kind, text }) {
    if (kind === "comment") return;
    this.#isPrefix = kind === "word" && text.toUpperCase() === "PREFIX";
    if (kind === "mark") this.#takeMark(text);
    else if (!this.#groups || this.#parentheses) return;
    else if (TERMS.has(kind)) this.#takeTerm(kind, text);
    else if (kind === "word") this.#takeWord(text);
  }

  /** @param {string} text */
  #takeMark(text) {
    if (text === "(") this.#parentheses += 1;
    else if (text === ")") this.#parentheses = Math.max(0, this.#parentheses - 1);
    else if (text === "{") this.#enter();
    else if (text === "}") this.#leave();
    else if (this.#parentheses) return;
    else if (text === ".") this.#inGroup = "subject";
    else if (text === ";" || text === "/" || text === "|" || text === "^" || text === "!") this.#inGroup = "predicate";
    else if (text === "," || text === "^^") this.#inGroup = "object"; // a datatype belongs to the object
    else if (text === "[") {
      this.#outer.push(this.#inGroup);
      this.#inGroup = "predicate";
    } else if (text === "]") {
      this.#inGroup = this.#outer.pop() ?? "subject";
      this.#goOn();
    }
  }

  #enter() {
    this.#groups += 1;
    // a group within parentheses, as of EXISTS, has patterns again
    this.#parentheses = 0;
    this.#inGroup = "subject";
  }

  #leave() {
    this.#groups = Math.max(0, this.#groups - 1);
    this.#parentheses = 0;
    this.#inGroup = "subject";
  }

  /** @param {string} kind @param {string} text */
  #takeTerm(kind, text) {
    if (this.#inGroup === "predicate") this.#isType = text === "rdf:type" || text === `<${RDF_TYPE}>`;
    if (kind !== "variable" || text.length > 1) this.#goOn(); // a lone ? belongs to a path
  }

  /** @param {string} text */
  #takeWord(text) {
    const isVerb = text === "a" && this.#inGroup === "predicate";
    if (isVerb) this.#isType = true;
    if (isVerb || /^(true|false)$/i.test(text)) this.#goOn();
    else this.#inGroup = "subject";
  }

  /** Moves to the next term of a triple; after the object to another pattern, unless a mark follows. */
  #goOn() {
    this.#inGroup = this.#inGroup === "subject" ? "predicate" : this.#inGroup === "predicate" ? "object" : "subject";
  }
}
