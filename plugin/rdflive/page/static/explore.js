/**
 * The neighbourhood of a node as a live query: the first of its outgoing and incoming triples. The server keeps all of
 * them to know the first ones, so it may refuse a node with very many.
 */

import { PREFIXES } from "./about.js";
import { keyOf } from "./pairs.js";
import { IN_IRI, shorten } from "./terms.js";

/** @typedef {import("./terms.js").Term} Term */
/** @typedef {import("./panel.js").Asked} Asked */

/** The limit of triples in each direction, the first by the order of their terms. */
const MOST = 60;
/** An absolute IRI that a query can contain; others in a graph could end the brackets. */
const WRITABLE = new RegExp(`^[a-z][a-z0-9+.-]*:${IN_IRI}*$`, "iu");

/**
 * Returns true if a query can name a node: a blank node by its label, an IRI by its text.
 * @param {Term | undefined} term
 */
export function isExplorable(term) {
  return term?.type === "bnode" || (term?.type === "uri" && WRITABLE.test(term.value));
}

/**
 * Returns the query that explores a node: in all graphs, or with entailment in the default graph only, as GRAPH with a
 * variable does not support entailment.
 * @param {Term} node
 * @param {{prefixes: import("./terms.js").Prefixes, entailment: string}} from the answer with the node
 * @returns {Asked}
 */
export function around(node, { prefixes, entailment }) {
  const isBlank = node.type === "bnode";
  const self = isBlank ? "?node" : `<${node.value}>`;
  const name = isBlank ? `_:${node.value}` : shorten(node.value, prefixes);
  const declared = [...prefixes].filter(([prefix, iri]) => PREFIXES.get(prefix) !== iri);
  const query = [
    `# Around ${name.replace(/[\r\n]/g, " ")}`,
    ...declared.map(([prefix, iri]) => `PREFIX ${prefix}: <${iri}>`),
    `CONSTRUCT { ${self} ?out ?to . ?from ?in ${self} } WHERE {`,
    `  { ${selected(isBlank ? "?node ?out ?to" : "?out ?to", `${self} ?out ?to`, entailment === "")} }`,
    "  UNION",
    `  { ${selected(isBlank ? "?node ?from ?in" : "?from ?in", `?from ?in ${self}`, entailment === "")} }`,
    "}",
    "",
  ].join("\n");
  const term = { type: node.type, value: node.value };
  return { query, entailment, key: [], node: isBlank ? node.value : "", centre: term, view: "picture" };
}

/**
 * Notes that the limit of triples around a node is reached, so there may be more.
 * @param {Term} centre
 * @param {import("./answer.js").Answer} answer
 */
export function boundOf(centre, answer) {
  const self = keyOf({ term: centre }, ["term"]);
  const all = [...answer.rows.values()].filter((row) => row.count > 0);
  const count = (/** @type {string} */ name) =>
    all.filter(({ binding }) => keyOf({ term: binding[name] }, ["term"]) === self).length;
  const shown = ["subject", "object"].filter((name) => count(name) >= MOST);
  return shown.length ? `First ${MOST} triples with this node as ${shown.join(" and as ")}; there may be more.` : "";
}

/**
 * @param {string} shown
 * @param {string} pattern
 * @param {boolean} isEverywhere in all graphs
 */
function selected(shown, pattern, isEverywhere) {
  const where = isEverywhere ? `{ ${pattern} } UNION { GRAPH ?graph { ${pattern} } }` : pattern;
  return `SELECT DISTINCT ${shown} { ${where} } LIMIT ${MOST}`;
}
