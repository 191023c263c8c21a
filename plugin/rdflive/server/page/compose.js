/** The form for a new subscription: the query, checked while one types, and what to begin with. */

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

/** Milliseconds without a key after which the query is checked. */
const PAUSE = 400;
const PREFIX_CHIPS = 60;
/** Characters of a link: the server takes 65,536 bytes of a request's head, in which there are other lines. */
const LONGEST_LINK = 60_000;

/**
 * Sets the form up.
 * @param {import("./desk.js").Desk} desk where subscriptions are opened
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

  /** Shows what was there before, the query of a link, or a first one. */
  async begin() {
    const { isNew } = this.#tabs;
    const known = vocabulary.refresh();
    const linked = takeLinked();
    if (linked) this.#tabs.open(linked);
    this.#regime.value = this.#tabs.current.entailment; // before anybody chooses another
    const onSubmit = () => void this.submit();
    this.box = await makeQueryBox(byId("query"), {
      text: this.#tabs.current.query,
      label: "query-label",
      description: "query-problem query-keys",
      onChange: () => this.changed(),
      onSubmit,
    });
    // another tab may have been chosen while the editor was loaded
    if (this.box.text !== this.#tabs.current.query) this.#show(this.#tabs.current);
    this.#regime.addEventListener("change", () => this.changed());
    byId("query-label").addEventListener("click", () => this.box.focus());
    byId("compose").addEventListener("submit", (event) => {
      event.preventDefault();
      onSubmit();
    });
    byId("link").addEventListener("click", () => void this.#link());
    byId("examples").append(...EXAMPLES.map(({ title, query }) => chip(title, () => this.replace(query))));
    // the last ones that were bound are those of the data
    const prefixes = [...PREFIXES].reverse().slice(0, PREFIX_CHIPS);
    byId("prefixes").append(...prefixes.map(([name, iri]) => chip(`${name}:`, () => this.declare(name, iri), iri)));
    const checked = this.check();
    if (isNew && !linked) this.#beginWithTheData((await known).first);
    await checked;
  }

  /** Shows a first query of the data; who has never asked anything here sees its answer as well. @param {string} first */
  #beginWithTheData(first) {
    const isTouched = this.box.text !== EXAMPLES[0].query || byId("query").contains(document.activeElement);
    if (!first || isTouched) return;
    this.box.text = first;
    if (this.#past.isFirstVisit && this.#desk.isEmpty) this.#desk.begin({ query: first, entailment: "" });
  }

  /** Keeps the draft, and checks it when no key has come for a while. */
  changed() {
    this.#tabs.change(this.#asked());
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.check(), PAUSE);
  }

  /** Shows a query in a tab of its own, and leads there. @param {Asked} asked */
  #open(asked) {
    this.#tabs.open(asked);
    this.box.focus();
  }

  /** Shows the query of another tab. @param {Asked} asked */
  #show({ query, entailment }) {
    if (!this.box) return; // it begins with the tab that is shown
    this.box.open(query);
    this.#regime.value = entailment;
    void this.check();
  }

  /** Shows the link to the query, and copies it where the browser lets the page. */
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
      byId("link-done").textContent = ""; // it is selected, to be copied by hand
    }
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
    const isThere = new RegExp(`\\bPREFIX\\s+${name.replaceAll(".", "\\.")}:`, "i").test(this.box.text);
    if (!isThere) this.box.text = `PREFIX ${name}: <${iri}>\n${this.box.text}`;
    this.box.focus();
  }

  /** Asks the server whether the query can be kept up to date, and shows what it says. */
  async check() {
    const signal = this.#newCheck();
    byId("link-row").hidden = true;
    if (!this.box.text.trim()) return this.#tell(null, "");
    try {
      this.#tell(null, headOf(await explain(this.#asked(), signal)));
    } catch (error) {
      if (!signal.aborted) this.#tell(isOfQuery(error) ? error : null, "");
    }
  }

  /** Subscribes; a query that cannot be has the focus put to the place. */
  async submit() {
    const asked = this.#asked();
    const place = document.activeElement; // who has gone elsewhere meanwhile keeps the focus
    const isSame = () => this.box.text === asked.query; // one may write on, or choose another tab, meanwhile
    this.#newCheck();
    if (!asked.query.trim()) return this.#refuse("There is no query yet.");
    try {
      const head = headOf(await explain(asked));
      if (isSame()) this.#tell(null, head);
    } catch (error) {
      if (isOfQuery(error)) return isSame() ? this.#lead(error) : announce(`Not subscribed: ${error.message}`);
      // without a connection, or with too much to do for the server, the panel says so and goes on trying
    }
    byId("query-alert").textContent = "";
    this.#past.add(asked);
    this.#desk.open(asked, isSame() && document.activeElement === place);
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
    const place = this.#tell(problem, "");
    this.#refuse(byId("query-problem").textContent ?? "");
    this.box.goTo(place ?? 0);
  }

  #asked() {
    return { query: this.box.text, entailment: this.#regime.value };
  }

  /**
   * Shows a problem at its place, which is given, or else the form of the query.
   * @param {Problem | null} problem
   * @param {string} form
   */
  #tell(problem, form) {
    const words = byId("query-problem");
    words.hidden = !problem;
    words.textContent = problem?.words ?? "";
    byId("query-form").textContent = form;
    return this.box.mark(problem);
  }

  /** @param {string} why */
  #refuse(why) {
    this.#newCheck(); // a check that is due would take the words away
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

/**
 * @param {string} name
 * @param {() => void} onClick
 * @param {string} [title]
 */
function chip(name, onClick, title = "") {
  return make("li", {}, button(name, onClick, { title }));
}
