/** The title of a query: its first comment, or its beginning. */

import { cut } from "./elements.js";

const LONGEST = 70;

/** @param {string} query */
export function titleOf(query) {
  const comment = /^\s*#+\s*(\S.*?)\s*$/m.exec(query.slice(0, 1000));
  const isOnTop = comment && query.slice(0, comment.index).trim() === "";
  return cut(isOnTop ? comment[1] : beginning(query), LONGEST) || "Query";
}

/** @param {string} query */
function beginning(query) {
  const text = query
    .replace(/^\s*#.*$/gm, "")
    .replace(/^(\s*(PREFIX\s+[^\s:]*:|BASE)\s*<[^>]*>)+/i, "")
    .replace(/\s+/g, " ")
    .trim();
  const head = /^SELECT\b[^{]*?(?=\s*(\bWHERE\b|\bFROM\b|\{))/i.exec(text);
  return head ? head[0] : text;
}

/**
 * Returns the name of an entailment regime, as people write it.
 * @param {string} regime a value of the request's field `entailment`
 */
export function regimeName(regime) {
  return regime === "rules" ? regime : regime.toUpperCase();
}
