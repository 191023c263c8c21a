/** The display of a connection: its state, a countdown while it is lost, and a button to reconnect at once. */

import { announce } from "./announce.js";
import { button, make } from "./elements.js";

/** @typedef {import("./stream.js").State} State */

/** Shows the state of one stream. */
export class Connection {
  #title;
  #words = make("span");
  #chip = make("p", { className: "state" }, this.#words);
  #why = make("p", { className: "problem", hidden: true });
  #retry;
  #clock = 0;
  #wasLost = false;

  /**
   * @param {string} title
   * @param {() => void} onRetry
   */
  constructor(title, onRetry) {
    this.#title = title;
    this.#retry = button("Try now", onRetry, { hidden: true });
    this.element = this.#chip;
    this.details = make("div", { className: "row lost", hidden: true }, this.#why, this.#retry);
  }

  /** @param {State} state */
  show(state) {
    clearInterval(this.#clock);
    this.#chip.dataset.state = state.name;
    this.#retry.hidden = state.name !== "waiting";
    this.#why.hidden = this.details.hidden = !("why" in state);
    if ("why" in state) this.#why.textContent = state.why;
    if (state.name === "waiting") {
      this.#count(state.until);
      this.#clock = setInterval(() => this.#count(state.until), 500);
    } else if (state.name === "once") {
      this.#words.textContent = `Ran at ${state.at.toLocaleTimeString()}`;
    } else {
      this.#words.textContent = { connecting: "Connecting …", connected: "Connected", ended: "Ended" }[state.name];
    }
    this.#announce(state);
  }

  /** Stops the clock. */
  close() {
    clearInterval(this.#clock);
  }

  /** @param {number} until */
  #count(until) {
    const seconds = Math.max(0, Math.ceil((until - Date.now()) / 1000));
    this.#words.textContent = `Reconnecting in ${seconds} s`;
  }

  /** Announces the loss and the return of a connection, but not each try. @param {State} state */
  #announce(state) {
    if (state.name === "ended") announce(`${this.#title} has ended: ${state.why}`);
    else if (state.name === "waiting" && !this.#wasLost) announce(`${this.#title}: connection lost, reconnecting.`);
    else if (state.name === "connected" && this.#wasLost) announce(`${this.#title}: connected again.`);
    if (state.name !== "connecting") this.#wasLost = state.name === "waiting";
  }
}
