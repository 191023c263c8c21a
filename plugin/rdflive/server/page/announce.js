/** What a screen reader hears: sums of changes, not more often than one can listen to. */

import { byId, counted } from "./elements.js";

/** Milliseconds before a change is said, and between two times. */
const SOON = 500;
const PAUSE = 5_000;

/** @type {Map<string, {came: number, went: number, turned: number, now: string, noun: string}>} */
const changes = new Map();
let timer = 0;
let last = -PAUSE;

/**
 * Says a sentence at once.
 * @param {string} sentence
 */
export function announce(sentence) {
  byId("announced").textContent = sentence;
}

/**
 * Notes a change of a subscription; what comes within five seconds of the last time is added up.
 * @param {string} title
 * @param {import("./pairs.js").Change} change
 * @param {string} now what the answer is now
 * @param {string} [noun] what rows are
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
    const moved = came || went || !turned ? [`${counted(came, noun)} came, ${went} went`] : [];
    if (turned) moved.unshift(`${counted(turned, noun)} changed`);
    return `${title}: ${moved.join(", ")}; ${now}.`;
  });
  changes.clear();
  announce(sentences.join(" "));
}
