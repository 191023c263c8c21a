/** Facts that the server embeds in the page: the rights of its reader, shapes, and prefixes for queries. */

const { rights = "", shapes = "", token = "", prefixes = "{}" } = document.body.dataset;
const RIGHTS = new Set(rights.split(" "));

/**
 * Prefixes that are bound on the graph: the prefixes of its files, and the usual ones.
 * @type {ReadonlyMap<string, string>} from the name, without the colon, to the namespace
 */
export const PREFIXES = new Map(Object.entries(JSON.parse(prefixes)));

/** True if the server validates shapes. */
export const HAS_SHAPES = shapes !== "";
/** True if no shape has both a target and a constraint. */
export const SHAPES_ARE_IDLE = shapes === "idle";

/** True if the server requires a token. */
export const NEEDS_TOKEN = token !== "";

/** @param {"read" | "subscribe" | "update"} right */
export function may(right) {
  return RIGHTS.has(right);
}
