/** The difference of two answers, and the pairing of its removed and added rows by a key. */

/** @typedef {import("./terms.js").Binding} Binding */
/** @typedef {import("./terms.js").Term} Term */
/** @typedef {{old: Binding, new: Binding}} Pair */
/** @typedef {{added: Binding[], removed: Binding[], changed: Pair[]}} Change */

/**
 * Returns the rows that turn an answer into a later one.
 * @param {Map<string, {binding: Binding, count: number}>} rows the answer, by `keyOf` all variables
 * @param {Binding[]} later
 * @param {string[]} names the variables
 */
export function difference(rows, later, names) {
  const missing = new Map([...rows].map(([key, row]) => [key, row.count]));
  const added = [];
  for (const binding of later) {
    const key = keyOf(binding, names);
    const left = missing.get(key) ?? 0;
    if (left > 0) missing.set(key, left - 1);
    else added.push(binding);
  }
  const removed = [...rows].flatMap(([key, { binding }]) => Array(missing.get(key)).fill(binding));
  return { added, removed };
}

/**
 * Pairs rows by key, as the server does with `key=`, if one row of the key was removed and one added. Several rows of a
 * key, or rows without a key, cannot be paired.
 *
 * Example: with the key `train`, `removed` T1 4 and `added` T1 9 are the change T1 4 to 9.
 * @param {Binding[]} added
 * @param {Binding[]} removed
 * @param {string[] | null} key null for none; an empty key is for answers of one row
 * @returns {Change}
 */
export function paired(added, removed, key) {
  if (key === null || added.length === 0 || removed.length === 0) return { added, removed, changed: [] };
  const came = grouped(added, key);
  const went = grouped(removed, key);
  const changed = [];
  const taken = new Set();
  for (const [value, olds] of went) {
    const news = came.get(value) ?? [];
    if (olds.length !== 1 || news.length !== 1) continue;
    changed.push({ old: olds[0], new: news[0] });
    taken.add(value);
  }
  const isLeft = (/** @type {Binding} */ binding) => !taken.has(keyOf(binding, key));
  return { added: added.filter(isLeft), removed: removed.filter(isLeft), changed };
}

/**
 * Returns a text that identifies the terms of some variables.
 * @param {Binding} binding
 * @param {string[]} names
 */
export function keyOf(binding, names) {
  return JSON.stringify(names.map((name) => identityOf(termOf(binding, name))));
}

/**
 * Returns the term of a variable, whose name may be any word.
 * @param {Binding} binding
 * @param {string} name
 */
export function termOf(binding, name) {
  return Object.hasOwn(binding, name) ? binding[name] : undefined;
}

/** @param {Term | undefined} term */
function identityOf(term) {
  return term && [term.type, term.value, term["xml:lang"]?.toLowerCase(), term["its:dir"], term.datatype];
}

/**
 * @param {Binding[]} bindings
 * @param {string[]} key
 */
function grouped(bindings, key) {
  /** @type {Map<string, Binding[]>} */
  const groups = new Map();
  for (const binding of bindings) {
    const value = keyOf(binding, key);
    const group = groups.get(value);
    if (group) group.push(binding);
    else groups.set(value, [binding]);
  }
  return groups;
}
