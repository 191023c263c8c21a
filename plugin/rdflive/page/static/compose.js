/** The form for a new subscription: the query, checked during typing, and examples. */

import { PREFIXES, may } from "./about.js";
import { announce } from "./announce.js";
import { CopyAs } from "./copy.js";
import { button, byId, make } from "./elements.js";
import { EXAMPLES } from "./examples.js";
import { takeLinked } from "./link.js";
import { answerOf } from "./once.js";
import { PastQueries } from "./past_queries.js";
import { makeQueryBox } from "./query_box.js";
import { Problem, explain } from "./server.js";
import { Tabs } from "./tabs.js";
import { known as vocabulary } from "./vocabulary.js";

/** @typedef {import("./panel.js").Asked} Asked */

/** Milliseconds without a key press after which the query is checked. */
const PAUSE = 400;
const PREFIX_CHIPS = 60;

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
  #tabs = new Tabs(EXAMPLES[0].query, (asked) => this.#turn(asked), (asked) => this.#past.add(asked));
  #past = new PastQueries((asked) => this.#open(asked));
  #copy = new CopyAs(() => this.#asked());
  /** The problem of the query, shown once the user has finished typing. */
  #problem = "";
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
    if (this.box.text !== this.#tabs.current.query) this.#turn(this.#tabs.current);
    this.#regime.addEventListener("change", () => this.changed());
    byId("query-label").addEventListener("click", () => this.box.focus());
    byId("compose").addEventListener("submit", (event) => {
      event.preventDefault();
      onSubmit();
    });
    byId("run-once").hidden = !may("read");
    byId("run-once").addEventListener("click", () => void this.runOnce());
    byId("query").addEventListener("focusout", () => setTimeout(() => this.#isTyping || this.#show()));
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
    this.#copy.forget();
    byId("query-problem").classList.add("past"); // it is about another text, but nothing moves during typing
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.check(), PAUSE);
  }

  /** Shows a query in its own tab, and moves the focus there. @param {Asked} asked */
  #open(asked) {
    this.#tabs.open(asked);
    this.box.focus();
  }

  /** Shows the query of another tab. @param {Asked} asked */
  #turn({ query, entailment }) {
    if (!this.box) return; // it starts with the shown tab
    this.#copy.forget();
    this.box.open(query);
    this.#regime.value = entailment;
    void this.check();
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
    if (!this.box.text.trim()) return this.#report(null, "");
    try {
      this.#report(null, headOf(await explain(this.#asked(), signal)));
    } catch (error) {
      if (!signal.aborted) this.#report(isOfQuery(error) ? error : null, "");
    }
  }

  /** Shows the answer once; for a query that cannot run moves the focus to the error. */
  async runOnce() {
    const asked = this.#asked();
    this.#newCheck();
    if (!asked.query.trim()) return this.#refuse("Write a query first.");
    if (asked.entailment) return this.#refuse("Run once has no entailment: choose None, or subscribe.");
    try {
      const answer = await answerOf(asked);
      if (this.box.text === asked.query) this.#report(null, byId("query-form").textContent ?? "");
      this.#past.add(asked);
      this.#desk.show(asked, answer);
    } catch (error) {
      if (isOfQuery(error) && this.box.text === asked.query) return this.#leadTo(error);
      this.#refuse(error instanceof Problem ? error.message : "The server was not reached.");
    }
  }

  /** Subscribes; for an unsupported query moves the focus to the error. */
  async submit() {
    const asked = this.#asked();
    const place = document.activeElement; // a focus that moves elsewhere meanwhile stays there
    const isSame = () => this.box.text === asked.query; // the user may edit the query, or choose another tab, meanwhile
    this.#newCheck();
    if (!asked.query.trim()) return this.#refuse("Write a query first.");
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
    this.#refuse(problem.words);
    this.box.goTo(place ?? 0);
  }

  #asked() {
    return { query: this.box.text, entailment: this.#regime.value };
  }

  /**
   * Marks a problem and returns its place, or shows the form of the query. The text of the problem waits for the
   * end of typing.
   * @param {Problem | null} problem
   * @param {string} form
   */
  #report(problem, form) {
    this.#problem = problem?.words ?? "";
    if (!this.#isTyping) this.#show();
    else if (byId("query-problem").hidden) byId("query-problem").textContent = this.#problem; // which describes the editor
    byId("query-form").textContent = form;
    return this.box.mark(problem);
  }

  get #isTyping() {
    return byId("query").contains(document.activeElement);
  }

  /** Shows the text of the problem, or removes that of a former one. */
  #show() {
    const words = byId("query-problem");
    words.hidden = !this.#problem;
    words.textContent = this.#problem;
    words.classList.remove("past");
  }

  /** @param {string} why */
  #refuse(why) {
    this.#newCheck(); // a planned check would remove the text
    this.#problem = byId("query-alert").textContent = why;
    this.#show();
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
