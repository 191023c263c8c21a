/** The field for a query: CodeMirror if the package contains it, else a plain text field. */

import { completionsAt } from "./completion.js";
import { byId, make } from "./elements.js";
import { known } from "./vocabulary.js";

/** @typedef {{text: string, open: (text: string) => void, mark: (from: number | null, to: number, message: string) => void,
 *   goTo: (place: number) => void, focus: () => void}} Field */
/** @typedef {{text: string, label: string, description: string, onChange: () => void, onSubmit: () => void}} Options
 * `label` is the id of the labelling element, `description` has the ids of the describing ones */

/**
 * Puts a field into `parent`.
 * @param {HTMLElement} parent
 * @param {Options} options
 */
export async function makeQueryBox(parent, options) {
  return new QueryBox(await makeField(parent, options));
}

class QueryBox {
  #field;

  /** @param {Field} field */
  constructor(field) {
    this.#field = field;
  }

  get text() {
    return this.#field.text;
  }

  set text(value) {
    this.#field.text = value;
  }

  /** Shows another text, such as that of another tab. @param {string} text */
  open(text) {
    this.#field.open(text);
  }

  focus() {
    this.#field.focus();
  }

  /**
   * Marks the place of a problem, and returns its offset; `line` and `column` count from 1. Returns null for no place.
   * @param {{line: number, column: number, message: string} | null} problem
   */
  mark(problem) {
    if (!problem?.line) {
      this.#field.mark(problem ? 0 : null, 0, problem?.message ?? ""); // at the first line
      return null;
    }
    const from = offsetOf(this.text, problem.line, problem.column);
    const word = /^(?:[\p{L}\p{N}_:?$-]+|[^\n])/u.exec(this.text.slice(from));
    this.#field.mark(from, from + (word?.[0].length ?? 0), problem.message);
    return from;
  }

  /** Moves the cursor to a place, and the focus here. @param {number} place */
  goTo(place) {
    this.#field.goTo(place);
  }
}

/**
 * Converts a line and a column of characters, both from 1, to an offset of UTF-16 units.
 * @param {string} text
 * @param {number} line
 * @param {number} column
 */
export function offsetOf(text, line, column) {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  const characters = [...(lines[line - 1] ?? "")].slice(0, Math.max(0, column - 1));
  return Math.min(text.length, before + characters.join("").length);
}

/**
 * @param {HTMLElement} parent
 * @param {Options} options
 * @returns {Promise<Field>}
 */
async function makeField(parent, { label, description, ...options }) {
  const attributes = { "aria-labelledby": label, "aria-describedby": description, autocapitalize: "off" };
  const name = document.body.dataset.editor;
  if (!name) return makePlainField(parent, attributes, options);
  const { makeEditor } = await import(`./${name}`);
  const style = /** @type {HTMLLinkElement | null} */ (document.querySelector("link[nonce]"));
  return makeEditor({ parent, nonce: style?.nonce ?? "", attributes, complete, ...options });
}

/**
 * Completes a word by the vocabulary of the data.
 * @param {string} text
 * @param {number} position
 * @param {boolean} isAsked
 */
async function complete(text, position, isAsked) {
  void known.refresh(); // for the next word, without waiting
  return completionsAt(text, position, isAsked, known.now);
}

/**
 * @param {HTMLElement} parent
 * @param {Record<string, string>} attributes
 * @param {{text: string, onChange: () => void, onSubmit: () => void}} options
 * @returns {Field}
 */
function makePlainField(parent, attributes, { text, onChange, onSubmit }) {
  const area = make("textarea", { value: text, rows: 10, spellcheck: false, ...attributes });
  area.addEventListener("input", onChange);
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSubmit();
  });
  parent.append(area);
  byId("plain-note").hidden = false;
  return {
    get text() {
      return area.value;
    },
    set text(value) {
      area.value = value;
      onChange();
    },
    open(value) {
      area.value = value;
    },
    mark(_from, _to, message) {
      area.setAttribute("aria-invalid", String(message !== ""));
    },
    goTo(place) {
      area.setSelectionRange(place, place);
      area.focus();
    },
    focus() {
      area.focus();
    },
  };
}
