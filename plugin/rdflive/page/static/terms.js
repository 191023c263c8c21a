/** RDF terms of SPARQL results: their text, short and full, and their elements. */

import { PREFIXES } from "./about.js";
import { cut, make } from "./elements.js";

/** @typedef {{type: string, value: any, "xml:lang"?: string, "its:dir"?: string,
 *   datatype?: string}} Term */
/** @typedef {Record<string, Term>} Binding */
/** @typedef {Map<string, string>} Prefixes from the name, without the colon, to the namespace */

export const RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
const XSD = "http://www.w3.org/2001/XMLSchema#";
export const XSD_STRING = `${XSD}string`;
const OUTSIDE_IRIS = '\\x00-\\x20<>"{}|^`\\\\';
/** Patterns of the characters that SPARQL and Turtle allow unescaped in an IRI, and of the others. */
export const IN_IRI = `[^${OUTSIDE_IRIS}]`;
export const NOT_IN_IRI = `[${OUTSIDE_IRIS}]`;
const NUMBERS = new Set(
  [
    ...["integer", "decimal", "double", "float", "long", "int", "short", "byte"],
    ...["nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"],
    ...["unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"],
  ].map((name) => XSD + name),
);
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$|^([+-]?INF|NaN)$/;
const LONGEST = 400;
const LOCAL = /^[\p{L}\p{N}_]([\p{L}\p{N}_.-]*[\p{L}\p{N}_-])?$/u;
const DECLARED = new RegExp(String.raw`\bPREFIX\s+((?:\p{L}[^\s:<>"']*)?):\s*<(${IN_IRI}+)>`, "giu");
const BRACKETED = new RegExp(`<(${IN_IRI}+)>`, "g");

/**
 * Returns the prefixes of a query: the server's, overridden by its own declarations.
 * @param {string} query
 * @returns {Prefixes}
 */
export function prefixesOf(query) {
  const found = new Map(PREFIXES);
  for (const [, name, namespace] of query.matchAll(DECLARED)) found.set(name, namespace);
  return found;
}

/**
 * Writes an IRI with a prefix if one fits, else in angle brackets.
 * @param {string} iri
 * @param {Prefixes} prefixes
 */
export function shorten(iri, prefixes) {
  let best = `<${iri}>`;
  let length = 0;
  for (const [name, namespace] of prefixes) {
    const local = iri.slice(namespace.length);
    if (namespace.length > length && iri.startsWith(namespace) && LOCAL.test(local)) {
      best = `${name}:${local}`;
      length = namespace.length;
    }
  }
  return best;
}

/**
 * Shortens all IRIs of a text that has them in angle brackets.
 * @param {string} text
 * @param {Prefixes} prefixes
 */
export function shortenAll(text, prefixes) {
  return text.replace(BRACKETED, (_, iri) => shorten(iri, prefixes));
}

/**
 * Writes a term on one line in the syntax of SPARQL, but numbers without datatype.
 * @param {Term | undefined} term
 * @param {Prefixes} prefixes
 * @returns {string}
 */
export function textOf(term, prefixes) {
  if (!term) return "–";
  if (term.type === "uri") return shorten(String(term.value), prefixes);
  if (term.type === "bnode") return `_:${term.value}`;
  if (term.type === "triple") return `<<( ${parts(term).map((part) => textOf(part, prefixes)).join(" ")} )>>`;
  if (isNumber(term)) return String(term.value);
  return `"${term.value}"${markOf(term, prefixes)}`;
}

/**
 * Makes the element that shows a term. A term is never used as markup or as a link.
 * @param {Term | undefined} term
 * @param {Prefixes} prefixes
 */
export function elementOf(term, prefixes) {
  if (!term) return make("span", { className: "unbound" }, "–", make("span", { className: "unseen" }, "unbound"));
  // bdi isolates the direction of a text
  if (term.type === "uri" || term.type === "bnode" || term.type === "triple") {
    const shown = make("span", { className: term.type }, make("bdi", {}, cut(textOf(term, prefixes), LONGEST)));
    if (term.type === "uri") shown.title = String(term.value);
    return shown;
  }
  const value = make("bdi", {}, cut(String(term.value), LONGEST));
  if (term["xml:lang"]) value.lang = term["xml:lang"];
  if (String(term.value).length > LONGEST) value.title = String(term.value);
  const shown = make("span", { className: "literal" }, value);
  const mark = markOf(term, prefixes);
  if (isNumber(term)) shown.title = shorten(String(term.datatype), prefixes);
  else if (mark) shown.append(make("span", { className: "mark", title: term.datatype ?? "" }, mark));
  return shown;
}

/**
 * Returns the sort key of a term: unbound, blank nodes, IRIs, numbers, other literals.
 * @param {Term | undefined} term
 * @returns {[number, number | string]}
 */
export function rankOf(term) {
  if (!term) return [0, ""];
  if (term.type === "bnode") return [1, String(term.value)];
  if (term.type === "uri") return [2, String(term.value)];
  const number = numberOf(term);
  return Number.isNaN(number) ? [4, JSON.stringify(term.value)] : [3, number];
}

/** Returns the value of a number, NaN for other terms. @param {Term} term */
export function numberOf(term) {
  return isNumber(term) ? Number(String(term.value).replace("INF", "Infinity")) : NaN;
}

/** Returns true for a literal with a numeric datatype and form. @param {Term} term */
function isNumber({ datatype, value }) {
  return datatype !== undefined && NUMBERS.has(datatype) && NUMBER.test(value);
}

/**
 * Writes a literal's language tag or datatype; a plain string has neither.
 * @param {Term} term
 * @param {Prefixes} prefixes
 */
function markOf(term, prefixes) {
  if (term["xml:lang"]) return `@${term["xml:lang"]}${term["its:dir"] ? `--${term["its:dir"]}` : ""}`;
  if (!term.datatype || term.datatype === XSD_STRING) return "";
  return `^^${shorten(term.datatype, prefixes)}`;
}

/** @param {Term} term */
function parts(term) {
  return [term.value.subject, term.value.predicate, term.value.object];
}
