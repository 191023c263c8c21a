/** Announcements for screen readers: sums of changes, at a pace for listening. */

import { byId, counted } from "./elements.js";

/** Milliseconds before a change is announced, and between two announcements. */
const SOON = 500;
const PAUSE = 5_000;

/** @type {Map<string, {came: number, went: number, turned: number, now: string, noun: string}>} */
const changes = new Map();
let timer = 0;
let last = -PAUSE;

/**
 * Announces a sentence at once.
 * @param {string} sentence
 */
export function announce(sentence) {
  byId("announced").textContent = sentence;
}

/**
 * Notes a change of a subscription; changes within five seconds of the last announcement are summed.
 * @param {string} title
 * @param {import("./pairs.js").Change} change
 * @param {string} now the present answer
 * @param {string} [noun] the noun for rows
 */
export function announceChange(title, { added, removed, changed }, now, noun = "row") {
  const before = changes.get(title) ?? { came: 0, went: 0, turned: 0 };
  const came = before.came + added.length;
  const went = before.went + removed.length;
  changes.set(title, { came, went, turned: before.turned + changed.length, now, noun });
  timer ||= setTimeout(flush, Math.max(SOON, last + PAUSE - performance.now()));
}

function flush() {
  timer = 0;
  last = performance.now();
  const sentences = [...changes].map(([title, { came, went, turned, now, noun }]) => {
    const moved = came || went || !turned ? [`${counted(came, noun)} added, ${went} removed`] : [];
    if (turned) moved.unshift(`${counted(turned, noun)} changed`);
    return `${title}: ${moved.join(", ")}; ${now}.`;
  });
  changes.clear();
  announce(sentences.join(" "));
}
