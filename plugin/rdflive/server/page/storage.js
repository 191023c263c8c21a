/** What the browser keeps. It may keep nothing, as in a window without cookies: then the page does without. */

/**
 * Gives what was kept under a name; null for nothing, or for what is no JSON.
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
 * Tells whether a value is a query as it was asked: what is kept may come from another version of the page.
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
