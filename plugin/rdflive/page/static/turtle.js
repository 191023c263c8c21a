/** Triples as a Turtle document. */

import { NOT_IN_IRI, RDF_TYPE, XSD_STRING, textOf } from "./terms.js";

/** @typedef {import("./terms.js").Term} Term */
/** @typedef {import("./terms.js").Prefixes} Prefixes */

const OUTSIDE = new RegExp(NOT_IN_IRI, "g");
/** Names that need no escape in Turtle. */
const NAME = /^[A-Za-z][A-Za-z0-9_-]*:([A-Za-z_][A-Za-z0-9_-]*)$|^:[A-Za-z_][A-Za-z0-9_-]*$/;
const ESCAPES = new Map([["\\", "\\\\"], ['"', '\\"'], ["\n", "\\n"], ["\r", "\\r"]]);

/**
 * Writes a document: the used prefixes, then the triples grouped by subject.
 * @param {Iterable<Record<string, Term>>} triples bindings of subject, predicate and object
 * @param {Prefixes} prefixes
 */
export function turtleOf(triples, prefixes) {
  const writer = new Writer(prefixes);
  /** @type {Map<string, string[]>} */
  const bySubject = new Map();
  for (const { subject, predicate, object } of triples) {
    const isType = predicate.value === RDF_TYPE;
    const line = `${isType ? "a" : writer.term(predicate)} ${writer.term(object)}`;
    const key = writer.term(subject);
    const lines = bySubject.get(key);
    if (lines) lines.push(line);
    else bySubject.set(key, [line]);
  }
  const blocks = [...bySubject].map(([subject, lines]) => `${subject} ${lines.join(" ;\n    ")} .\n`);
  const head = [...writer.used].map((name) => `PREFIX ${name}: <${iriText(prefixes.get(name) ?? "")}>\n`);
  return [...head, head.length ? "\n" : "", ...blocks].join("");
}

class Writer {
  /** The used prefixes. @type {Set<string>} */ used = new Set();
  #prefixes;
  /** @type {Map<string, string>} */ #blanks = new Map();

  /** @param {Prefixes} prefixes */
  constructor(prefixes) {
    this.#prefixes = prefixes;
  }

  /**
   * Writes a term.
   * @param {Term} term
   * @returns {string}
   */
  term(term) {
    if (term.type === "uri") return this.#iri(term.value);
    if (term.type === "bnode") return this.#blank(term.value);
    if (term.type === "triple") {
      const { subject, predicate, object } = term.value;
      return `<<( ${[subject, predicate, object].map((part) => this.term(part)).join(" ")} )>>`;
    }
    const text = `"${String(term.value).replace(/["\\\n\r]/g, (one) => ESCAPES.get(one) ?? one)}"`;
    const direction = term["its:dir"] ? `--${term["its:dir"]}` : "";
    if (term["xml:lang"]) return `${text}@${term["xml:lang"]}${direction}`;
    return !term.datatype || term.datatype === XSD_STRING ? text : `${text}^^${this.#iri(term.datatype)}`;
  }

  /** @param {string} iri */
  #iri(iri) {
    const short = textOf({ type: "uri", value: iri }, this.#prefixes);
    if (!NAME.test(short)) return `<${iriText(iri)}>`;
    this.used.add(short.slice(0, short.indexOf(":")));
    return short;
  }

  /** Numbers blank nodes: labels of a store may have characters that Turtle does not allow. @param {string} label */
  #blank(label) {
    let name = this.#blanks.get(label);
    if (!name) this.#blanks.set(label, (name = `_:b${this.#blanks.size}`));
    return name;
  }
}

/** Escapes the characters that an IRI must not contain. @param {string} iri */
function iriText(iri) {
  return iri.replace(OUTSIDE, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
