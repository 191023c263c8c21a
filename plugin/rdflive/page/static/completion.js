/** Completions at a place of a query: keywords, prefixes, classes, predicates and variables. */

import { counted } from "./elements.js";
import { AGGREGATES, FUNCTIONS, IN_EXPRESSION, IN_GROUP, OUTSIDE } from "./keywords.js";
import { placeOf, tokensOf } from "./places.js";
import { RDF_TYPE, prefixesOf, shorten } from "./terms.js";

/** @typedef {import("./vocabulary.js").Vocabulary} Vocabulary */
/** @typedef {{label: string, apply?: string, detail?: string, type: string}} Option in the form of CodeMirror */
/** @typedef {Option & {iri?: string}} Candidate */

const MOST = 100;

/**
 * Returns completions for the word that ends at `position`; null without any.
 * @param {string} text
 * @param {number} position
 * @param {boolean} isAsked true if a key requested it; else completion needs the beginning of a word
 * @param {Vocabulary} vocabulary
 * @returns {{from: number, options: Option[]} | null}
 */
export function completionsAt(text, position, isAsked, vocabulary) {
  const place = placeOf(text.slice(0, position));
  if (!place || (!place.word && !isAsked)) return null;
  if (place.word === "<" && place.slot === "expression" && !isAsked) return null; // the operator "less than"
  const from = position - place.word.length;
  const whole = tokensOf(text);
  const prefixes = prefixesOf(text);
  const names = namesOf(vocabulary, prefixes);
  const variables = variablesOf(whole, from);
  const groups = candidatesFor(place, { names, variables, prefixes });
  const options = groups.flatMap((candidates) => fitting(candidates, place.word)).slice(0, MOST);
  return options.length ? { from, options } : null;
}

/**
 * Returns the candidates for a place in groups, the likeliest first.
 * @param {import("./places.js").Place} place
 * @param {{names: Names, variables: Candidate[], prefixes: Map<string, string>}} known
 * @returns {Candidate[][]}
 */
function candidatesFor({ slot, word }, { names, variables, prefixes }) {
  const declared = [...prefixes].map(([name, namespace]) => ({
    label: `${name}:`,
    apply: slot === "prefix" ? `${name}: <${namespace}>` : `${name}:`,
    detail: namespace,
    type: "namespace",
  }));
  const calls = [...AGGREGATES, ...FUNCTIONS].map((label) => ({ label, apply: `${label}(`, type: "function" }));
  if (slot === "prefix") return [declared];
  if (word.startsWith("?") || word.startsWith("$")) return [variables];
  const verb = names.predicates.some(({ label }) => label === "a") ? [] : [{ label: "a", type: "keyword" }];
  switch (slot) {
    case "predicate":
      return [names.predicates, verb, variables, declared];
    case "class":
      return [names.classes, variables, declared];
    case "object":
      return [variables, declared, names.classes];
    case "expression":
      return [variables, calls, keywords(IN_EXPRESSION), names.predicates, names.classes, declared];
    case "outside":
      return [keywords(OUTSIDE), variables, calls, declared];
    default:
      return [variables, keywords(IN_GROUP), declared];
  }
}

/**
 * Returns the candidates that contain a word, first those that begin with it.
 * @param {Candidate[]} candidates
 * @param {string} word
 * @returns {Option[]}
 */
function fitting(candidates, word) {
  const sought = word.toLowerCase();
  const address = sought.replace("<", "");
  /** @type {Option[][]} */ const ranks = [[], [], []];
  for (const { iri = "", ...option } of candidates) {
    const label = option.label.toLowerCase();
    if (option.label === word || (option.type === "keyword" && label === sought)) continue; // already written
    const local = label.slice(label.search(/[^#/:]+>?$/));
    if (label.startsWith(sought)) ranks[0].push(option);
    else if (local.startsWith(sought)) ranks[1].push(option);
    else if (sought.length > 1 && (label.includes(sought) || iri.includes(address))) ranks[2].push(option);
  }
  return ranks.flat();
}

/** @typedef {{predicates: Candidate[], classes: Candidate[]}} Names */

/** @type {{vocabulary: Vocabulary | null, prefixes: string, names: Names}} */
const last = { vocabulary: null, prefixes: "", names: { predicates: [], classes: [] } };

/**
 * Writes the vocabulary with the prefixes of a query. The last result is cached, as most keys change neither.
 * @param {Vocabulary} vocabulary
 * @param {Map<string, string>} prefixes
 */
function namesOf(vocabulary, prefixes) {
  const written = JSON.stringify([...prefixes]);
  if (last.vocabulary !== vocabulary || last.prefixes !== written) {
    /** @param {import("./vocabulary.js").Use[]} uses @param {string} type */
    const named = (uses, type) =>
      uses.map(({ iri, uses: count }) => ({
        label: iri === RDF_TYPE ? "a" : shorten(iri, prefixes),
        detail: counted(count, "use"),
        type,
        iri: iri.toLowerCase(),
      }));
    const names = { predicates: named(vocabulary.predicates, "property"), classes: named(vocabulary.classes, "class") };
    Object.assign(last, { vocabulary, prefixes: written, names });
  }
  return last.names;
}

/**
 * Returns the variables of a query except the one being written.
 * @param {import("./places.js").Token[]} tokens
 * @param {number} from
 */
function variablesOf(tokens, from) {
  const others = tokens.filter(({ kind, start, text }) => kind === "variable" && start !== from && text.length > 1);
  return [...new Set(others.map(({ text }) => text))].map((label) => ({ label, type: "variable" }));
}

/** @param {string[]} labels */
function keywords(labels) {
  return labels.map((label) => ({ label, type: "keyword" }));
}
