/** The history of queries with a subscription or tab in this browser, the latest first. */

import { button, byId, make } from "./elements.js";
import { isAsked, keep, kept } from "./storage.js";
import { regimeName, titleOf } from "./titles.js";

/** @typedef {import("./panel.js").Asked} Asked */

const KEPT = "rdflive.history";
const MOST = 50;
/** Characters of all kept queries: a browser allows a site about five million. */
const LONGEST = 500_000;

export class PastQueries {
  #onOpen;
  /** @type {Asked[]} */ #all = [];

  /** @param {(asked: Asked) => void} onOpen */
  constructor(onOpen) {
    this.#onOpen = onOpen;
    /** True before the first subscription in this browser. */
    this.isFirstVisit = kept("localStorage", KEPT) === null;
    byId("past-clear").addEventListener("click", () => {
      this.#keep([]);
      // this list is hidden now, so the focus moves to the one before
      byId("past").previousElementSibling?.querySelector("summary")?.focus();
    });
    this.#read();
    this.#draw();
    // another tab of the browser has changed the history
    addEventListener("storage", (event) => {
      if (event.key !== KEPT) return;
      this.#read();
      this.#draw();
    });
  }

  /** Adds a query after its subscription, or after its tab is closed. @param {Asked} asked */
  add(asked) {
    this.#read(); // includes additions of other tabs
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
      const regime = asked.entailment ? [" ", make("span", { className: "quiet" }, regimeName(asked.entailment))] : [];
      const words = [titleOf(asked.query), ...regime];
      return make("li", {}, button(words, () => this.#onOpen(asked), { title: asked.query }));
    });
    byId("past-queries").replaceChildren(...items);
  }
}
