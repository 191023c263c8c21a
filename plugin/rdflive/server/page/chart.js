/** A small chart of a rate over the last minutes, with a caption; hidden while the rate is zero. */

import { make } from "./elements.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 240;
const HEIGHT = 48;
/** The samples of a chart, one every two seconds. */
const SAMPLES = 60;

/** The rate of a counter of the server. */
export class RateChart {
  #name;
  #words = make("figcaption");
  #area = draw("path", { class: "area" });
  #line = draw("path", { class: "line" });
  /** @type {number[]} */ #rates = [];
  /** @type {{count: number, at: number} | null} */ #last = null;

  /** @param {string} name */
  constructor(name) {
    this.#name = name;
    const svg = draw("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    svg.append(this.#area, this.#line);
    this.element = make("figure", { className: "chart", hidden: true }, this.#words, svg);
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
    const moves = this.#rates.length > 1 && this.#rates.some((rate) => rate > 0); // one point makes no line
    this.element.hidden = !moves;
    if (!moves) return;
    this.#draw();
    this.#say();
  }

  #draw() {
    const highest = Math.max(...this.#rates);
    const step = WIDTH / (SAMPLES - 1);
    const start = WIDTH - (this.#rates.length - 1) * step;
    const places = this.#rates.map((rate, i) => {
      const x = start + i * step;
      return `${x.toFixed(1)} ${(HEIGHT - 2 - (rate / highest) * (HEIGHT - 6)).toFixed(1)}`;
    });
    this.#line.setAttribute("d", `M${places.join("L")}`);
    this.#area.setAttribute("d", `M${start.toFixed(1)} ${HEIGHT}L${places.join("L")}L${WIDTH} ${HEIGHT}Z`);
  }

  #say() {
    const now = this.#rates.at(-1) ?? 0;
    const peak = ` highest ${rounded(Math.max(...this.#rates))}/s in 2 minutes`;
    this.#words.replaceChildren(
      `${this.#name} `,
      make("strong", {}, `${rounded(now)}/s`),
      make("span", { className: "quiet" }, peak),
    );
  }
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
