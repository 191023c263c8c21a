/** A panel that stands still: its events are held and counted until it goes on. */

import { button, counted } from "./elements.js";

/** Changed rows that are held; with more the panel goes on by itself. */
const MOST = 100_000;

export class Pause {
  #apply;
  /** @type {[string, any][]} */ #held = [];
  #rows = 0;
  #isOn = false;
  #button = button("Pause", () => (this.#isOn ? this.end() : this.#begin()));

  /** @param {(events: [string, any][]) => void} apply takes the held events */
  constructor(apply) {
    this.#apply = apply;
    this.element = this.#button;
  }

  /**
   * Returns true if an event is held.
   * @param {string} type
   * @param {any} event
   */
  holds(type, event) {
    if (!this.#isOn) return false;
    if (type === "initial") this.#held = []; // it replaces all before
    this.#held.push([type, event]);
    const { added = [], removed = [], changed = [] } = type === "update" ? event : {};
    this.#rows += added.length + removed.length + changed.length;
    if (this.#rows > MOST) this.end();
    else this.#say();
    return true;
  }

  /** Goes on. */
  end() {
    this.#isOn = false;
    this.#rows = 0;
    const held = this.#held.splice(0);
    this.#say();
    this.#apply(held);
  }

  #begin() {
    this.#isOn = true;
    this.#say();
  }

  #say() {
    this.#button.textContent = this.#isOn ? `Resume · ${counted(this.#held.length, "change")}` : "Pause";
    this.#button.classList.toggle("main", this.#isOn);
  }
}
