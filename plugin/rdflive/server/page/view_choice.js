/** Whether triples are shown as a table or as a picture. */

import { make } from "./elements.js";

/** Two buttons, of which one is pressed. */
export class ViewChoice {
  #table = make("button", { type: "button" }, "Table");
  #picture = make("button", { type: "button" }, "Picture");
  element = make("div", { className: "views", role: "group", "aria-label": "Answer as", hidden: true }, this.#table, this.#picture);

  /**
   * @param {boolean} isPicture
   * @param {(isPicture: boolean) => void} onChoice
   */
  constructor(isPicture, onChoice) {
    this.#press(isPicture);
    for (const button of [this.#table, this.#picture]) {
      button.addEventListener("click", () => {
        this.#press(button === this.#picture);
        onChoice(button === this.#picture);
      });
    }
  }

  /** @param {boolean} isPicture */
  #press(isPicture) {
    this.#table.setAttribute("aria-pressed", String(!isPicture));
    this.#picture.setAttribute("aria-pressed", String(isPicture));
  }
}
