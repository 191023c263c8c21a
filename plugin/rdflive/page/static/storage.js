/** The browser's storage. It may be unavailable, as in a window without cookies; the page then works without it. */

/**
 * Returns the value kept under a name; null for none, or for invalid JSON.
 * @param {"localStorage" | "sessionStorage"} where
 * @param {string} name
 * @returns {any}
 */
export function kept(where, name) {
  try {
    return JSON.parse(window[where].getItem(name) ?? "null");
  } catch {
    return null;
  }
}

/**
 * Keeps a value under a name, if there is room.
 * @param {"localStorage" | "sessionStorage"} where
 * @param {string} name
 * @param {unknown} value
 */
export function keep(where, name, value) {
  try {
    window[where].setItem(name, JSON.stringify(value));
  } catch {
    // full or forbidden
  }
}

/**
 * Returns true if a value is a query: kept values may come from another version of the page.
 * @param {any} value
 * @returns {value is import("./panel.js").Asked}
 */
export function isAsked(value) {
  if (typeof value?.query !== "string" || typeof value.entailment !== "string") return false;
  const { key = [], rowKey = null } = value;
  return areNames(key) && (rowKey === null || areNames(rowKey));
}

/** @param {any} value */
function areNames(value) {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}
