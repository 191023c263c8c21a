/** The form for a new subscription: the query, checked during typing, and examples. */

import { PREFIXES } from "./about.js";
import { announce } from "./announce.js";
import { button, byId, make } from "./elements.js";
import { EXAMPLES } from "./examples.js";
import { linkTo, takeLinked } from "./link.js";
import { PastQueries } from "./past_queries.js";
import { makeQueryBox } from "./query_box.js";
import { Problem, explain } from "./server.js";
import { Tabs } from "./tabs.js";
import { known as vocabulary } from "./vocabulary.js";

/** @typedef {import("./panel.js").Asked} Asked */

/** Milliseconds without a key press after which the query is checked. */
const PAUSE = 400;
const PREFIX_CHIPS = 60;
/** Characters of the longest link: the server limits the head of a request to 65,536 bytes. */
const LONGEST_LINK = 60_000;

/**
 * Sets the form up.
 * @param {import("./desk.js").Desk} desk opens subscriptions
 */
export async function setUpForm(desk) {
  const form = new Compose(desk);
  await form.begin();
}

class Compose {
  /** @type {Awaited<ReturnType<typeof makeQueryBox>>} */ box = /** @type {any} */ (null);
  #desk;
  #regime = /** @type {HTMLSelectElement} */ (byId("entailment"));
  #tabs = new Tabs(EXAMPLES[0].query, (asked) => this.#show(asked), (asked) => this.#past.add(asked));
  #past = new PastQueries((asked) => this.#open(asked));
  #timer = 0;
  /** @type {AbortController | null} */ #checking = null;

  /** @param {import("./desk.js").Desk} desk */
  constructor(desk) {
    this.#desk = desk;
  }

  /** Shows the last queries, the query of a link, or a first one. */
  async begin() {
    const { isNew } = this.#tabs;
    const known = vocabulary.refresh();
    const linked = takeLinked();
    if (linked) this.#tabs.open(linked);
    this.#regime.value = this.#tabs.current.entailment; // before a user can choose another
    const onSubmit = () => void this.submit();
    this.box = await makeQueryBox(byId("query"), {
      text: this.#tabs.current.query,
      label: "query-label",
      description: "query-problem query-keys",
      onChange: () => this.changed(),
      onSubmit,
    });
    // the user may have chosen another tab while the editor was loading
    if (this.box.text !== this.#tabs.current.query) this.#show(this.#tabs.current);
    this.#regime.addEventListener("change", () => this.changed());
    byId("query-label").addEventListener("click", () => this.box.focus());
    byId("compose").addEventListener("submit", (event) => {
      event.preventDefault();
      onSubmit();
    });
    byId("link").addEventListener("click", () => void this.#link());
    byId("examples").append(...EXAMPLES.map(({ title, query }) => chip(title, () => this.replace(query))));
    // the last bound ones belong to the data
    const prefixes = [...PREFIXES].reverse().slice(0, PREFIX_CHIPS);
    byId("prefixes").append(...prefixes.map(([name, iri]) => chip(`${name}:`, () => this.declare(name, iri), iri)));
    const checked = this.check();
    if (isNew && !linked) this.#beginWithTheData((await known).first);
    await checked;
  }

  /** Shows a first query of the data; on the first visit its answer too. @param {string} first */
  #beginWithTheData(first) {
    const isTouched = this.box.text !== EXAMPLES[0].query || byId("query").contains(document.activeElement);
    if (!first || isTouched) return;
    this.box.text = first;
    if (this.#past.isFirstVisit && this.#desk.isEmpty) this.#desk.begin({ query: first, entailment: "" });
  }

  /** Keeps the draft, and checks it after a pause in typing. */
  changed() {
    this.#tabs.change(this.#asked());
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.check(), PAUSE);
  }

  /** Shows a query in its own tab, and moves the focus there. @param {Asked} asked */
  #open(asked) {
    this.#tabs.open(asked);
    this.box.focus();
  }

  /** Shows the query of another tab. @param {Asked} asked */
  #show({ query, entailment }) {
    if (!this.box) return; // it starts with the shown tab
    this.box.open(query);
    this.#regime.value = entailment;
    void this.check();
  }

  /** Shows the link to the query, and copies it if the browser allows that. */
  async #link() {
    const field = /** @type {HTMLInputElement} */ (byId("link-text"));
    const link = linkTo(this.#asked());
    if (link.length > LONGEST_LINK) return this.#refuse("The query is too long for a link.");
    field.value = link;
    byId("link-row").hidden = false;
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      byId("link-done").textContent = "copied";
      announce("The link is copied.");
    } catch {
      byId("link-done").textContent = ""; // selected, to be copied by hand
    }
  }

  /** Puts another query into the field. @param {string} query */
  replace(query) {
    this.box.text = query;
    this.box.focus();
  }

  /**
   * Declares a prefix at the top of the query, unless it is declared already.
   * @param {string} name
   * @param {string} iri
   */
  declare(name, iri) {
    const isThere = new RegExp(`\\bPREFIX\\s+${name.replaceAll(".", "\\.")}:`, "i").test(this.box.text);
    if (!isThere) this.box.text = `PREFIX ${name}: <${iri}>\n${this.box.text}`;
    this.box.focus();
  }

  /** Checks by the server that the query can be maintained, and shows the result. */
  async check() {
    const signal = this.#newCheck();
    byId("link-row").hidden = true;
    if (!this.box.text.trim()) return this.#report(null, "");
    try {
      this.#report(null, headOf(await explain(this.#asked(), signal)));
    } catch (error) {
      if (!signal.aborted) this.#report(isOfQuery(error) ? error : null, "");
    }
  }

  /** Subscribes; for an unsupported query moves the focus to the error. */
  async submit() {
    const asked = this.#asked();
    const place = document.activeElement; // a focus that moves elsewhere meanwhile stays there
    const isSame = () => this.box.text === asked.query; // the user may edit the query, or choose another tab, meanwhile
    this.#newCheck();
    if (!asked.query.trim()) return this.#refuse("There is no query yet.");
    try {
      const head = headOf(await explain(asked));
      if (isSame()) this.#report(null, head);
    } catch (error) {
      if (isOfQuery(error)) return isSame() ? this.#leadTo(error) : announce(`Not subscribed: ${error.message}`);
      // without a connection, or on an overloaded server, the panel reports it and retries
    }
    byId("query-alert").textContent = "";
    this.#past.add(asked);
    this.#desk.open(asked, isSame() && document.activeElement === place);
  }

  /** Aborts a planned or running check, and returns the abort signal of a new one. */
  #newCheck() {
    clearTimeout(this.#timer);
    this.#checking?.abort();
    this.#checking = new AbortController();
    return this.#checking.signal;
  }

  /** Shows and announces a problem, and moves the focus to its place. @param {Problem} problem */
  #leadTo(problem) {
    const place = this.#report(problem, "");
    this.#refuse(byId("query-problem").textContent ?? "");
    this.box.goTo(place ?? 0);
  }

  #asked() {
    return { query: this.box.text, entailment: this.#regime.value };
  }

  /**
   * Shows a problem and returns its place, or shows the form of the query.
   * @param {Problem | null} problem
   * @param {string} form
   */
  #report(problem, form) {
    const words = byId("query-problem");
    words.hidden = !problem;
    words.textContent = problem?.words ?? "";
    byId("query-form").textContent = form;
    return this.box.mark(problem);
  }

  /** @param {string} why */
  #refuse(why) {
    this.#newCheck(); // a planned check would remove the text
    const words = byId("query-problem");
    words.hidden = false;
    words.textContent = byId("query-alert").textContent = why;
  }
}

/**
 * Returns true if the query is refused for good.
 * @param {unknown} error
 * @returns {error is Problem}
 */
function isOfQuery(error) {
  return error instanceof Problem && error.status < 500 && error.status !== 408 && error.status !== 429;
}

/**
 * Writes the form of a query and its variables.
 * @param {{form: string, vars: string[]}} explained
 */
function headOf({ form, vars }) {
  return form === "SELECT" ? [form, ...vars.map((name) => `?${name}`)].join(" ") : form;
}

/**
 * @param {string} name
 * @param {() => void} onClick
 * @param {string} [title]
 */
function chip(name, onClick, title = "") {
  return make("li", {}, button(name, onClick, { title }));
}
