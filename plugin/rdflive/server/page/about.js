/** What the server says with the page: what its reader may do, whether it has shapes, and prefixes for queries. */

const { rights = "", shapes = "", prefixes = "{}" } = document.body.dataset;
const RIGHTS = new Set(rights.split(" "));

/**
 * Prefixes that are bound on the graph: those of its files, and the usual ones.
 * @type {ReadonlyMap<string, string>} from the name, without the colon, to the namespace
 */
export const PREFIXES = new Map(Object.entries(JSON.parse(prefixes)));

/** Whether the server has shapes, whose results it validates. */
export const HAS_SHAPES = shapes !== "";

/** @param {"read" | "subscribe" | "update"} right */
export function may(right) {
  return RIGHTS.has(right);
}
