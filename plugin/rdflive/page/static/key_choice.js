/** The columns that identify the rows of an answer, so that a changed row is one line. */

import { make } from "./elements.js";
import { Problem } from "./server.js";

/** Milliseconds after which a busy server is asked again. */
const AGAIN = 3_000;

/**
 * Returns the key of the query itself, such as that of GROUP BY; undefined if the server does not explain the query.
 * @param {() => Promise<{key: string[] | null}>} explain
 * @param {() => boolean} isClosed
 */
export async function learnedKey(explain, isClosed) {
  while (!isClosed()) {
    try {
      return (await explain()).key;
    } catch (error) {
      // rows are shown without it, and the stream reports the error
      if (error instanceof Problem && error.status !== 429 && error.status !== 503) return;
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
    }
  }
}

/** A foldable choice of columns. */
export class KeyChoice {
  #onChoice;
  #words = make("span");
  #boxes = make("fieldset", {}, make("legend", {}, "Treat rows with equal values in these columns as one row:"));
  #summary = make("summary", {}, make("span", {}, "Row key: ", this.#words));
  element = make("details", { className: "key", hidden: true }, this.#summary, this.#boxes);

  /** @param {(key: string[] | null) => void} onChoice */
  constructor(onChoice) {
    this.#onChoice = onChoice;
  }

  /**
   * Offers the columns of an answer; the empty key of an answer with one row leaves no choice.
   * @param {string[]} names
   * @param {string[] | null} key the chosen columns
   */
  offer(names, key) {
    const boxes = names.map((name) => {
      const box = make("input", { type: "checkbox", value: name, checked: key?.includes(name) ?? false });
      box.addEventListener("change", () => this.#choose());
      return make("label", {}, box, make("bdi", {}, `?${name}`));
    });
    this.#boxes.append(...boxes);
    this.element.hidden = names.length === 0 || key?.length === 0;
    this.#say(key);
  }

  #choose() {
    const chosen = [...this.#boxes.querySelectorAll("input")].filter((box) => box.checked).map((box) => box.value);
    const key = chosen.length > 0 ? chosen : null;
    this.#say(key);
    this.#onChoice(key);
  }

  /** @param {string[] | null} key */
  #say(key) {
    this.#words.textContent = key ? key.map((name) => `?${name}`).join(" ") : "all columns";
  }
}
