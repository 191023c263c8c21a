/** Links that open a query. They never contain a token, which is in a cookie that no script can read. */

/** @typedef {import("./panel.js").Asked} Asked */

/** Characters of the longest link: the server limits the head of a request to 65,536 bytes. */
const LONGEST = 60_000;

/** Writes the link to a query; "" for one that is too long. @param {Asked} asked */
export function linkTo({ query, entailment }) {
  const fields = new URLSearchParams(entailment ? { query, entailment } : { query });
  const link = `${location.origin}${location.pathname}?${fields}`;
  return link.length > LONGEST ? "" : link;
}

/**
 * Returns the query of the page's URL, and removes it there, so that a reload does not open it again.
 * @returns {Asked | null}
 */
export function takeLinked() {
  const fields = new URLSearchParams(location.search);
  const query = fields.get("query");
  if (location.search) history.replaceState(null, "", location.pathname + location.hash);
  if (!query) return null;
  const entailment = fields.get("entailment") ?? "";
  return { query, entailment: ["rdfs", "rules"].includes(entailment) ? entailment : "" };
}
