/** Which columns tell the rows of an answer apart, so that a row that changes is one line. */

import { make } from "./elements.js";

/** A choice of columns, which is folded in. */
export class KeyChoice {
  #onChoice;
  #words = make("span");
  #boxes = make("fieldset", {}, make("legend", {}, "Rows that have the same terms here are one row that changes:"));
  element = make("details", { className: "key", hidden: true }, make("summary", {}, "Key: ", this.#words), this.#boxes);
  /** @type {string[] | null} */ #given = null;

  /** @param {(key: string[] | null) => void} onChoice */
  constructor(onChoice) {
    this.#onChoice = onChoice;
  }

  /**
   * Offers the columns of an answer.
   * @param {string[]} names
   * @param {string[] | null} key what is chosen; a key of no variables stays that until one is chosen
   */
  offer(names, key) {
    this.#given = key?.length === 0 ? key : null;
    const boxes = names.map((name) => {
      const box = make("input", { type: "checkbox", value: name, checked: key?.includes(name) ?? false });
      box.addEventListener("change", () => this.#choose());
      return make("label", {}, box, make("bdi", {}, `?${name}`));
    });
    const legend = /** @type {Element} */ (this.#boxes.firstElementChild);
    this.#boxes.replaceChildren(legend, ...boxes);
    this.element.hidden = names.length === 0;
    this.#say(key);
  }

  #choose() {
    const chosen = [...this.#boxes.querySelectorAll("input")].filter((box) => box.checked).map((box) => box.value);
    const key = chosen.length > 0 ? chosen : this.#given;
    this.#say(key);
    this.#onChoice(key);
  }

  /** @param {string[] | null} key */
  #say(key) {
    this.#words.textContent = key === null ? "none" : key.map((name) => `?${name}`).join(" ") || "one row";
  }
}
