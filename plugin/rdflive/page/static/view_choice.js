/** The choice between a table and a picture of triples. */

import { button, make } from "./elements.js";

/** Two buttons, one of which is pressed. */
export class ViewChoice {
  #onChoice;
  #table = button("Table", () => this.#choose(false));
  #picture = button("Picture", () => this.#choose(true));
  element = make("div", { className: "views", role: "group", "aria-label": "Answer as", hidden: true }, this.#table, this.#picture);

  /**
   * @param {boolean} isPicture
   * @param {(isPicture: boolean) => void} onChoice
   */
  constructor(isPicture, onChoice) {
    this.#onChoice = onChoice;
    this.#press(isPicture);
  }

  /** @param {boolean} isPicture */
  #choose(isPicture) {
    this.#press(isPicture);
    this.#onChoice(isPicture);
  }

  /** @param {boolean} isPicture */
  #press(isPicture) {
    this.#table.setAttribute("aria-pressed", String(!isPicture));
    this.#picture.setAttribute("aria-pressed", String(isPicture));
  }
}
