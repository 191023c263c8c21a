/** Triples as the server writes them in N-Triples. */

/** @typedef {import("./terms.js").Term} Term */

const IRI = String.raw`<([^>]*)>`;
const LITERAL = String.raw`"((?:[^"\\]|\\.)*)"(?:\^\^<([^>]*)>|@([A-Za-z0-9-]+?)(?:--(ltr|rtl))?(?![A-Za-z0-9-]))?`;
const TOKEN = new RegExp(String.raw`\s*(?:${IRI}|_:(\S+)|${LITERAL}|(<<\()|(\)>>)|(\.))`, "suyg");
const ESCAPE = /\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/gu;
const LETTERS = new Map([["t", "\t"], ["b", "\b"], ["n", "\n"], ["r", "\r"], ["f", "\f"]]);

/**
 * Returns the triples of a text as solutions.
 * @param {string} text
 */
export function triplesOf(text) {
  /** The terms of the present triple, and those around it. @type {Term[][]} */
  const open = [[]];
  const triples = [];
  for (const found of text.matchAll(TOKEN)) {
    const [, iri, label, string, datatype, language, direction, begins, ends] = found;
    const terms = /** @type {Term[]} */ (open.at(-1));
    if (iri !== undefined) terms.push({ type: "uri", value: unescaped(iri) });
    else if (label !== undefined) terms.push({ type: "bnode", value: label });
    else if (string !== undefined) terms.push(literal(unescaped(string), datatype, language, direction));
    else if (begins) open.push([]);
    else if (ends) {
      open.pop();
      open.at(-1)?.push({ type: "triple", value: tripleOf(terms) });
    } else triples.push(tripleOf(terms.splice(0)));
  }
  return triples;
}

/** @param {Term[]} terms */
function tripleOf([subject, predicate, object]) {
  return { subject, predicate, object };
}

/**
 * @param {string} value
 * @param {string | undefined} datatype
 * @param {string | undefined} language
 * @param {string | undefined} direction
 * @returns {Term}
 */
function literal(value, datatype, language, direction) {
  return {
    type: "literal",
    value,
    ...(datatype && { datatype: unescaped(datatype) }),
    ...(language && { "xml:lang": language }),
    ...(direction && { "its:dir": direction }),
  };
}

/** @param {string} text */
function unescaped(text) {
  return text.replace(ESCAPE, (_, four, eight, letter) =>
    letter ? (LETTERS.get(letter) ?? letter) : String.fromCodePoint(parseInt(four ?? eight, 16)),
  );
}
