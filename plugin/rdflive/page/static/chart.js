/** Small charts over time: the rate of a counter, and the value of an answer. */

import { make } from "./elements.js";
import { numberOf, textOf } from "./terms.js";

/** @typedef {import("./answer.js").Answer} Answer */

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 240;
const HEIGHT = 48;
/** The samples of a rate, one every two seconds. */
const SAMPLES = 60;
/** The last values of an answer. */
const VALUES = 500;

/** A line with the area below it, and a caption that says the same as text. */
class Chart {
  #words = make("figcaption");
  #area = draw("path", { class: "area" });
  #line = draw("path", { class: "line" });

  constructor() {
    const svg = draw("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    svg.append(this.#area, this.#line);
    this.element = make("figure", { className: "chart", hidden: true }, this.#words, svg);
  }

  /**
   * Shows a line.
   * @param {[number, number][]} points from 0 to 1, from left to right and from below to above
   * @param {string} name
   * @param {string} now
   * @param {string} rest
   */
  show(points, name, now, rest) {
    this.element.hidden = false;
    const places = points.map(([x, y]) => `${(x * WIDTH).toFixed(1)} ${(HEIGHT - 2 - y * (HEIGHT - 6)).toFixed(1)}`);
    this.#line.setAttribute("d", `M${places.join("L")}`);
    const [start, end] = [points[0][0] * WIDTH, (points.at(-1)?.[0] ?? 0) * WIDTH];
    this.#area.setAttribute("d", `M${start.toFixed(1)} ${HEIGHT}L${places.join("L")}L${end.toFixed(1)} ${HEIGHT}Z`);
    this.#words.replaceChildren(`${name} `, make("strong", {}, now), make("span", { className: "quiet" }, ` ${rest}`));
  }

  hide() {
    this.element.hidden = true;
  }
}

/** The rate of a counter of the server over the last minutes; hidden while it is zero. */
export class RateChart extends Chart {
  #name;
  /** @type {number[]} */ #rates = [];
  /** @type {{count: number, at: number} | null} */ #last = null;

  /** @param {string} name */
  constructor(name) {
    super();
    this.#name = name;
  }

  /**
   * Takes a total count; a count below the last one comes from a restarted server.
   * @param {number} count
   * @param {number} at seconds
   */
  take(count, at) {
    const last = this.#last;
    this.#last = { count, at };
    if (!last || count < last.count || at <= last.at) return;
    this.#rates = [...this.#rates, (count - last.count) / (at - last.at)].slice(-SAMPLES);
    const highest = Math.max(...this.#rates);
    if (this.#rates.length < 2 || highest === 0) return this.hide(); // one point makes no line
    const first = SAMPLES - this.#rates.length;
    const points = this.#rates.map((rate, i) => /** @type {[number, number]} */ ([(first + i) / (SAMPLES - 1), rate / highest]));
    this.show(points, this.#name, `${rounded(this.#rates.at(-1) ?? 0)}/s`, `peak ${rounded(highest)}/s in 2 min`);
  }
}

/** The number of an answer with one row and one number, since the panel was opened; shown once it has changed. */
export class ValueChart extends Chart {
  /** @type {{value: number, at: number, text: string}[]} */ #values = [];

  /**
   * Takes the present answer.
   * @param {Answer} answer
   */
  take(answer) {
    const found = onlyNumber(answer);
    if (!found) {
      this.#values = [];
      return this.hide();
    }
    const now = Date.now();
    if (this.#values.at(-1)?.value !== found.value) this.#values.push({ value: found.value, at: now, text: found.text });
    if (this.#values.length > VALUES) this.#values.shift();
    if (this.#values.length < 2) return;
    const all = this.#values.map(({ value }) => value);
    const [lowest, highest] = [Math.min(...all), Math.max(...all)];
    const [first] = this.#values;
    const duration = Math.max(1, now - first.at);
    const spread = highest / 2 - lowest / 2 || 1; // halves, because the difference of two numbers can be infinite
    const level = (/** @type {number} */ value) => (value / 2 - lowest / 2) / spread;
    /** @type {[number, number][]} */
    const points = this.#values.flatMap(({ value, at }, i) => {
      const end = this.#values[i + 1]?.at ?? now;
      return [at, end].map((time) => /** @type {[number, number]} */ ([(time - first.at) / duration, level(value)]));
    });
    const words = (/** @type {number} */ value) => this.#values.find((one) => one.value === value)?.text;
    const since = new Date(first.at).toLocaleTimeString();
    this.show(points, `?${found.name}`, found.text, `lowest ${words(lowest)}, highest ${words(highest)} since ${since}`);
  }
}

/** Returns the number of an answer with one row and one number. @param {Answer} answer */
function onlyNumber(answer) {
  if (answer.form !== "SELECT" || answer.size !== 1) return null;
  const [row] = [...answer.rows.values()].filter(({ count }) => count > 0);
  const numbers = Object.entries(row.binding).flatMap(([name, term]) => {
    const value = numberOf(term);
    return Number.isFinite(value) ? [{ name, value, text: textOf(term, new Map()) }] : [];
  });
  return numbers.length === 1 ? numbers[0] : null;
}

/** @param {number} rate */
function rounded(rate) {
  return rate >= 10 || rate === 0 ? Math.round(rate).toLocaleString("en") : rate.toFixed(1);
}

/**
 * @param {string} tag
 * @param {Record<string, string>} attributes
 */
function draw(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
