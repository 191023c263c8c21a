/** The tabs of the editor, each with a query. */

import { button, byId, make } from "./elements.js";
import { isAsked, keep, kept } from "./storage.js";
import { titleOf } from "./titles.js";

/** @typedef {import("./panel.js").Asked} Asked */

const KEPT = "rdflive.tabs";
const MOST = 12;
/** Characters of all kept tabs; beyond this they last until the window is closed. */
const LONGEST = 1_000_000;

/** Holds the queries, one of which is shown. Each window keeps its own; a new window starts with the last ones. */
export class Tabs {
  #onShow;
  #onGone;
  /** @type {Asked[]} */ #all;
  #current = 0;

  /**
   * @param {string} first the query without kept ones; it is kept once it is changed
   * @param {(asked: Asked) => void} onShow called to show another query
   * @param {(asked: Asked) => void} onGone called with the query of a closed tab
   */
  constructor(first, onShow, onGone) {
    this.#onShow = onShow;
    this.#onGone = onGone;
    const found = kept("sessionStorage", KEPT) ?? kept("localStorage", KEPT);
    const all = Array.isArray(found?.all) ? found.all.filter(isAsked).slice(0, MOST) : [];
    /** True without kept queries. */
    this.isNew = all.length === 0;
    this.#all = this.isNew ? [{ query: first, entailment: "" }] : all;
    this.#current = Math.min(Math.max(0, Number(found?.current) || 0), this.#all.length - 1);
    byId("tab-new").addEventListener("click", () => this.open({ query: "", entailment: "" }));
    byId("tabs").addEventListener("keydown", (event) => this.#press(event));
    this.#draw();
  }

  /** The shown query. */
  get current() {
    return this.#all[this.#current];
  }

  /** Replaces the shown query. @param {Asked} asked */
  change(asked) {
    const before = titleOf(this.current.query);
    this.#all[this.#current] = asked;
    this.#keep();
    if (titleOf(asked.query) !== before) this.#draw();
  }

  /** Shows a query in its present tab, else in the current empty one, else in a new one. @param {Asked} asked */
  open(asked) {
    const { query, entailment } = asked;
    let index = this.#all.findIndex((one) => one.query === query && one.entailment === entailment);
    if (index < 0) index = this.current.query.trim() ? this.#all.length : this.#current;
    this.#all[index] = asked;
    if (this.#all.length > MOST) {
      // drops the oldest one
      this.#gone(this.#all.shift());
      index -= 1;
    }
    this.#show(index);
  }

  /** @param {number} index */
  #close(index) {
    this.#gone(this.#all.splice(index, 1)[0]);
    if (this.#all.length === 0) this.#all.push({ query: "", entailment: "" });
    const isAfter = index < this.#current || this.#current === this.#all.length;
    this.#show(isAfter ? this.#current - 1 : this.#current);
    this.#focus();
  }

  /** @param {Asked | undefined} asked */
  #gone(asked) {
    if (asked?.query.trim()) this.#onGone(asked);
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    const last = this.#all.length - 1;
    const places = new Map([
      ["ArrowLeft", this.#current ? this.#current - 1 : last],
      ["ArrowRight", this.#current < last ? this.#current + 1 : 0],
      ["Home", 0],
      ["End", last],
    ]);
    const place = places.get(event.key);
    if (event.key === "Delete") this.#close(this.#current);
    else if (place !== undefined) this.#show(place);
    else return;
    event.preventDefault();
    this.#focus();
  }

  /** @param {number} index */
  #show(index) {
    this.#current = index;
    this.#keep();
    this.#draw();
    this.#onShow(this.current);
  }

  #focus() {
    byId(`tab-${this.#current}`).focus();
  }

  #keep() {
    const state = { all: this.#all, current: this.#current };
    keep("sessionStorage", KEPT, state);
    const length = this.#all.reduce((sum, { query }) => sum + query.length, 0);
    if (length <= LONGEST) keep("localStorage", KEPT, state);
  }

  #draw() {
    const tabs = this.#all.map(({ query }, index) => {
      const isShown = index === this.#current;
      const title = query.trim() ? titleOf(query) : "New query";
      const choose = () => {
        this.#show(index);
        this.#focus(); // the clicked button is drawn again
      };
      const tab = button(title, choose, {
        id: `tab-${index}`,
        role: "tab",
        tabIndex: isShown ? 0 : -1,
        title,
        "aria-selected": String(isShown),
        "aria-controls": "query",
      });
      const name = `Close ${title}`;
      const close = button("×", () => this.#close(index), { className: "close", title: name, "aria-label": name });
      close.tabIndex = isShown ? 0 : -1;
      return make("span", { className: "tab" }, tab, close);
    });
    byId("tabs").replaceChildren(...tabs);
    // a tablist may contain tabs only, but each of these has its button
    byId("tablist").setAttribute("aria-owns", this.#all.map((_, index) => `tab-${index}`).join(" "));
    byId("query").setAttribute("aria-labelledby", `tab-${this.#current}`);
    tabs[this.#current].scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}
