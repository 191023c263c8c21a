/** A panel that stands still: its events are held and counted until it goes on. */

import { button, counted } from "./elements.js";

/** Rows that are held; with more the panel goes on by itself. */
const MOST = 100_000;

export class Pause {
  /** Why the panel goes on although its button was not pressed, until it is paused again. */ why = "";
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
    if (type !== "initial" && type !== "update") return false; // other events leave the answer as it is
    if (type === "initial") this.#forget(); // it replaces all before
    this.#held.push([type, event]);
    const { added = [], removed = [], changed = [] } = event;
    this.#rows += added.length + removed.length + changed.length;
    if (this.#rows > MOST) this.#giveUp();
    else this.#say();
    return true;
  }

  /** Goes on. */
  end() {
    this.#isOn = false;
    const held = this.#held;
    this.#forget();
    this.#say();
    this.#apply(held);
  }

  #begin() {
    this.#isOn = true;
    this.why = "";
    this.#say();
  }

  #giveUp() {
    this.why = `resumed at ${new Date().toLocaleTimeString()}, with more than ${counted(MOST, "row")} to apply`;
    this.end();
  }

  #forget() {
    this.#held = [];
    this.#rows = 0;
  }

  #say() {
    this.#button.textContent = this.#isOn ? `Resume · ${this.#waiting()}` : "Pause";
    this.#button.classList.toggle("main", this.#isOn);
  }

  /** Says what is held. A whole answer may differ in any number of rows. */
  #waiting() {
    const isWhole = this.#held[0]?.[0] === "initial";
    if (!isWhole) return counted(this.#held.length, "change");
    const later = this.#held.length - 1;
    return later ? `new answer, ${counted(later, "change")}` : "new answer";
  }
}
