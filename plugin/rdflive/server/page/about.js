/** What the server says with the page: what its reader may do, and the prefixes that serve in queries. */

const { rights = "", prefixes = "{}" } = document.body.dataset;
const RIGHTS = new Set(rights.split(" "));

/**
 * Prefixes that are bound on the graph: those of its files, and the usual ones.
 * @type {ReadonlyMap<string, string>} from the name, without the colon, to the namespace
 */
export const PREFIXES = new Map(Object.entries(JSON.parse(prefixes)));

/** @param {"read" | "subscribe" | "update"} right */
export function may(right) {
  return RIGHTS.has(right);
}
