/** The queries that were subscribed to in this browser, or had a tab, the latest first. */

import { button, byId, make } from "./elements.js";
import { isAsked, keep, kept } from "./storage.js";
import { titleOf } from "./titles.js";

/** @typedef {import("./panel.js").Asked} Asked */

const KEPT = "rdflive.history";
const MOST = 50;
/** Characters of all that is kept: a browser gives a site about five million. */
const LONGEST = 500_000;

export class PastQueries {
  #onOpen;
  /** @type {Asked[]} */ #all = [];

  /** @param {(asked: Asked) => void} onOpen */
  constructor(onOpen) {
    this.#onOpen = onOpen;
    /** Whether nobody has subscribed to anything here. */
    this.isFirstVisit = kept("localStorage", KEPT) === null;
    byId("past-clear").addEventListener("click", () => {
      this.#keep([]);
      // this list is hidden now: to the one before it
      byId("past").previousElementSibling?.querySelector("summary")?.focus();
    });
    this.#read();
    this.#draw();
    // another tab of the browser has subscribed to something
    addEventListener("storage", (event) => {
      if (event.key !== KEPT) return;
      this.#read();
      this.#draw();
    });
  }

  /** Notes a query that was subscribed to, or has lost its tab. @param {Asked} asked */
  add(asked) {
    this.#read(); // what other tabs have added
    const { query, entailment } = asked;
    const others = this.#all.filter((one) => one.query !== query || one.entailment !== entailment);
    this.#keep([{ query, entailment }, ...others]);
  }

  #read() {
    const all = kept("localStorage", KEPT);
    this.#all = Array.isArray(all) ? all.filter(isAsked) : [];
  }

  /** @param {Asked[]} all */
  #keep(all) {
    let length = 0;
    const short = all.filter(({ query }) => (length += query.length) <= LONGEST);
    this.#all = short.slice(0, MOST);
    keep("localStorage", KEPT, this.#all);
    this.#draw();
  }

  #draw() {
    byId("past").hidden = this.#all.length === 0;
    const items = this.#all.map((asked) => {
      const regime = asked.entailment ? [" ", make("span", { className: "quiet" }, asked.entailment.toUpperCase())] : [];
      const words = [titleOf(asked.query), ...regime];
      return make("li", {}, button(words, () => this.#onOpen(asked), { title: asked.query }));
    });
    byId("past-queries").replaceChildren(...items);
  }
}
