/** The form for a new subscription: the query, checked while one types, and what to begin with. */

import { byId, make } from "./elements.js";
import { EXAMPLES } from "./examples.js";
import { makeQueryBox } from "./query_box.js";
import { Problem, explain } from "./server.js";
import { COMMON } from "./terms.js";

const DRAFT = "rdflive.draft";
/** Milliseconds without a key after which the query is checked. */
const PAUSE = 400;

/**
 * Sets the form up.
 * @param {(asked: import("./panel.js").Asked) => void} onSubscribe
 */
export async function setUpForm(onSubscribe) {
  const form = new Compose(onSubscribe);
  const text = sessionStorage.getItem(DRAFT) ?? EXAMPLES[0].query;
  const onSubmit = () => void form.submit();
  form.box = await makeQueryBox(byId("query"), { text, onChange: () => form.changed(), onSubmit });
  byId("query-label").addEventListener("click", () => form.box.focus());
  byId("compose").addEventListener("submit", (event) => {
    event.preventDefault();
    onSubmit();
  });
  const chips = EXAMPLES.map(({ title, query }) => chip(title, () => form.replace(query)));
  byId("examples").append(...chips);
  byId("prefixes").append(...[...COMMON].map(([name, iri]) => chip(`${name}:`, () => form.declare(name, iri))));
  await form.check();
}

class Compose {
  /** @type {Awaited<ReturnType<typeof makeQueryBox>>} */ box = /** @type {any} */ (null);
  #onSubscribe;
  #timer = 0;
  /** @type {AbortController | null} */ #checking = null;

  /** @param {(asked: import("./panel.js").Asked) => void} onSubscribe */
  constructor(onSubscribe) {
    this.#onSubscribe = onSubscribe;
  }

  /** Keeps the draft, and checks it when no key has come for a while. */
  changed() {
    sessionStorage.setItem(DRAFT, this.box.text);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.check(), PAUSE);
  }

  /** Puts another query into the field. @param {string} query */
  replace(query) {
    this.box.text = query;
    this.box.focus();
  }

  /**
   * Writes a prefix on top of the query, unless it is there.
   * @param {string} name
   * @param {string} iri
   */
  declare(name, iri) {
    const isThere = new RegExp(`\\bPREFIX\\s+${name}:`, "i").test(this.box.text);
    if (!isThere) this.box.text = `PREFIX ${name}: <${iri}>\n${this.box.text}`;
    this.box.focus();
  }

  /** Asks the server whether the query can be kept up to date, and shows what it says. */
  async check() {
    const signal = this.#newCheck();
    if (!this.box.text.trim()) return this.#show(null, "");
    try {
      this.#show(null, headOf(await explain(this.#asked(), signal)));
    } catch (error) {
      if (!signal.aborted) this.#show(isOfQuery(error) ? error : null, "");
    }
  }

  /** Subscribes; a query that cannot be has the focus put to the place. */
  async submit() {
    const asked = this.#asked();
    this.#newCheck();
    if (!asked.query.trim()) return this.#refuse("There is no query yet.");
    try {
      this.#show(null, headOf(await explain(asked)));
    } catch (error) {
      if (isOfQuery(error)) return this.#lead(error);
      // without a connection, or with too much to do for the server, the panel says so and goes on trying
    }
    byId("query-alert").textContent = "";
    this.#onSubscribe(asked);
  }

  /** Ends the check that is due or under way, and gives what would end a new one. */
  #newCheck() {
    clearTimeout(this.#timer);
    this.#checking?.abort();
    this.#checking = new AbortController();
    return this.#checking.signal;
  }

  /** Shows a problem, says it aloud and puts the focus to its place. @param {Problem} problem */
  #lead(problem) {
    const place = this.#show(problem, "");
    this.#refuse(byId("query-problem").textContent ?? "");
    this.box.goTo(place ?? 0);
  }

  #asked() {
    return { query: this.box.text, entailment: /** @type {HTMLSelectElement} */ (byId("entailment")).value };
  }

  /**
   * Shows a problem at its place, which is given, or else the form of the query.
   * @param {Problem | null} problem
   * @param {string} form
   */
  #show(problem, form) {
    const words = byId("query-problem");
    words.hidden = !problem;
    words.textContent = problem ? withPlace(problem) : "";
    byId("query-form").textContent = form;
    return this.box.mark(problem);
  }

  /** @param {string} why */
  #refuse(why) {
    const words = byId("query-problem");
    words.hidden = false;
    words.textContent = byId("query-alert").textContent = why;
  }
}

/**
 * Tells whether it is the query that is refused, not the moment.
 * @param {unknown} error
 * @returns {error is Problem}
 */
function isOfQuery(error) {
  return error instanceof Problem && error.status < 500 && error.status !== 408 && error.status !== 429;
}

/**
 * Writes the form of a query and what it asks for.
 * @param {{form: string, vars: string[]}} explained
 */
function headOf({ form, vars }) {
  return form === "SELECT" ? [form, ...vars.map((name) => `?${name}`)].join(" ") : form;
}

/** @param {Problem} problem */
function withPlace({ line, column, message }) {
  return line && !message.includes(`line ${line}`) ? `Line ${line}, column ${column}: ${message}` : message;
}

/**
 * @param {string} title
 * @param {() => void} onClick
 */
function chip(title, onClick) {
  const button = make("button", { type: "button" }, title);
  button.addEventListener("click", onClick);
  return make("li", {}, button);
}
