/** The panel of one open subscription. */

import { announceChange } from "./announce.js";
import { Answer, MARKED } from "./answer.js";
import { ChangeLog } from "./change_log.js";
import { RateChart } from "./chart.js";
import { Connection } from "./connection.js";
import { downloadCsv, downloadJson, downloadTurtle } from "./download.js";
import { button, counted, make } from "./elements.js";
import { MOST } from "./explore.js";
import { GraphPicture, canDraw } from "./graph_picture.js";
import { KeyChoice } from "./key_choice.js";
import { keyOf } from "./pairs.js";
import { showPlan } from "./picture.js";
import { Problem, explain } from "./server.js";
import { Stream } from "./stream.js";
import { AnswerTable } from "./table.js";
import { prefixesOf } from "./terms.js";
import { titleOf } from "./titles.js";
import { ViewChoice } from "./view_choice.js";

/** @typedef {import("./terms.js").Term} Term */
/**
 * @typedef {import("./server.js").Question & {rowKey?: string[] | null, centre?: Term, view?: string}} Asked
 *   `rowKey` are the columns that identify rows, undefined for the query's own; `centre` is the explored node;
 *   `view` is "picture" or "table"
 */

/** Milliseconds between two drawings; drawing takes at most a fifth of the time. */
const PACE = 60;

/** Pixels of a panel that are enough to see its content. */
const ENOUGH = 420;

/** Milliseconds after which the key is requested again from a busy server. */
const AGAIN = 3_000;

let made = 0;

/** Follows a query and shows its answer, until it is closed. */
export class Panel {
  #connection;
  #log;
  #table;
  #picture;
  #views;
  #listener;
  #answer = new Answer();
  #facts = make("p", { className: "facts" });
  #truth = make("p", { className: "truth" });
  #tools = make("div", { className: "row tools", hidden: true });
  #bound = make("p", { className: "bound" });
  #updates = new RateChart("Updates of the graph");
  #deltas = new RateChart("Deltas");
  #key = new KeyChoice((key) => this.#choose({ rowKey: key }));
  /** @type {HTMLButtonElement} */ #turtle;
  /** @type {Promise<any> | null} */ #explained = null;
  #timer = 0;
  #cost = 0;
  #sequence = 0;
  #changed = "";
  #isArriving = false;
  #isKeyKnown = false;
  #isClosed = false;

  /**
   * @param {Asked} asked
   * @param {{onClose: (panel: Panel) => void, onExplore: (panel: Panel, term: Term) => void,
   *   onChoice: () => void}} listener `onChoice` is called after a choice, which `asked` contains
   */
  constructor(asked, listener) {
    this.asked = asked;
    this.title = titleOf(asked.query);
    /** The server's id of the subscription. */
    this.id = "";
    this.prefixes = prefixesOf(asked.query);
    this.#listener = listener;
    this.stream = new Stream(asked, {
      onEvent: (type, event) => this.#take(type, event),
      onState: (state) => this.#connection.show(state),
    });
    const onExplore = (/** @type {Term} */ term) => listener.onExplore(this, term);
    this.#connection = new Connection(this.title, () => this.stream.retry());
    this.#log = new ChangeLog(this.prefixes);
    const onChoice = () => this.#plan();
    this.#table = new AnswerTable(this.#answer, this.prefixes, { title: this.title, onChoice, onExplore });
    this.#picture = new GraphPicture(this.#answer, this.prefixes, { centre: asked.centre ?? null, onExplore });
    this.#views = new ViewChoice(this.#isPicture, (isPicture) => {
      this.#choose({ view: isPicture ? "picture" : "table" });
    });
    this.#turtle = button("Turtle", () => downloadTurtle(this.#answer, this.prefixes));
    this.#turtle.hidden = true;
    this.#table.element.hidden = this.#picture.element.hidden = true; // until the first answer
    this.#answer.key = asked.rowKey !== undefined ? asked.rowKey : asked.key?.length ? asked.key : null;
    this.element = this.#layOut();
  }

  /** Starts to follow the query. */
  open() {
    void this.stream.run();
    void this.#learnKey();
  }

  /** Ends the subscription. */
  close() {
    this.#isClosed = true;
    this.stream.close();
    this.#connection.close();
    this.#picture.close();
    clearTimeout(this.#timer);
    this.element.remove();
  }

  /** Moves the focus here, and the panel into view, again after its answer has arrived. */
  focus() {
    this.element.querySelector("h3")?.focus({ preventScroll: true });
    this.#reveal();
    this.#isArriving = this.#answer.isEmpty;
  }

  /** Scrolls to the top of the panel, unless enough of it is visible. */
  #reveal() {
    const { top, height } = this.element.getBoundingClientRect();
    if (top < 0 || top + Math.min(height, ENOUGH) > innerHeight) this.element.scrollIntoView({ block: "start" });
  }

  /**
   * Takes the server's description of this subscription.
   * @param {{deltas: number, stats: {updates?: number}}} described
   * @param {number} at seconds
   */
  describe({ deltas, stats }, at) {
    this.#updates.take(stats.updates ?? 0, at);
    this.#deltas.take(deltas, at);
  }

  /** Requests the plan of the query, once for all callers. */
  #explain() {
    this.#explained ??= explain(this.asked);
    this.#explained.catch(() => (this.#explained = null)); // the next call requests it again
    return this.#explained;
  }

  /** Takes the key from the query, such as that of GROUP BY, unless the user has chosen one. */
  async #learnKey() {
    const isUnsaid = this.asked.rowKey === undefined && !this.asked.key?.length && !this.asked.centre;
    while (isUnsaid && !this.#isClosed) {
      try {
        this.#answer.key = (await this.#explain()).key; // the user can choose another afterwards
        break;
      } catch (error) {
        // rows are shown without it, and the stream reports the error
        if (error instanceof Problem && error.status !== 429 && error.status !== 503) break;
        await new Promise((resolve) => setTimeout(resolve, AGAIN));
      }
    }
    this.#isKeyKnown = true;
    this.#offerKey();
  }

  /**
   * @param {string} type
   * @param {any} event
   */
  #take(type, event) {
    if (type === "resync") this.#log.entry("resync", event.reason);
    if (type !== "initial" && type !== "update") return;
    const isFirst = this.#answer.isEmpty;
    const before = this.#answer.boolean;
    if (type === "initial") this.id = event.subscription ?? "";
    const change = type === "initial" ? this.#answer.begin(event) : this.#answer.take(event);
    const turned = this.#answer.boolean !== before;
    this.#sequence = event.sequence;
    if (isFirst) this.#offer();
    else if (turned || change.added.length || change.removed.length || change.changed.length) {
      this.#changed = new Date().toLocaleTimeString();
      if (turned) this.#log.entry(nameOf(event), this.#words());
      else this.#log.add(nameOf(event), change);
      announceChange(this.title, change, this.#words());
      if (turned) flash(this.#truth);
    }
    this.#plan();
  }

  /** Shows the tools for the form of the query. */
  #offer() {
    const isGraph = this.#answer.form === "CONSTRUCT";
    this.#tools.hidden = false;
    this.#turtle.hidden = !isGraph;
    this.#views.element.hidden = !isGraph || !canDraw();
    this.#offerKey();
  }

  /** Offers the choice of a key once the columns and the present key are known. */
  #offerKey() {
    if (this.#isKeyKnown && this.#answer.form === "SELECT") this.#key.offer(this.#answer.vars, this.#answer.key);
  }

  /** Takes a choice, which is restored after a reload. @param {Partial<Asked>} choice */
  #choose(choice) {
    Object.assign(this.asked, choice);
    if (choice.rowKey !== undefined) this.#answer.key = choice.rowKey;
    this.#listener.onChoice();
    this.#plan();
  }

  get #isPicture() {
    return this.asked.view === "picture" && canDraw();
  }

  /** Plans a drawing, which covers all events until then. */
  #plan() {
    this.#timer ||= setTimeout(() => this.#draw(), Math.max(PACE, 4 * this.#cost));
  }

  #draw() {
    const start = performance.now();
    this.#timer = 0;
    if (this.#answer.isEmpty) return;
    const isMarked = this.#answer.settle();
    const isTruth = this.#answer.form === "ASK";
    const isPicture = this.#isPicture && this.#answer.form === "CONSTRUCT";
    this.#truth.hidden = !isTruth;
    this.#table.element.hidden = this.#table.filter.hidden = isTruth || isPicture;
    this.#picture.element.hidden = !isPicture;
    if (isTruth) this.#truth.textContent = this.#words();
    else if (isPicture) this.#picture.draw();
    else this.#table.draw();
    this.#facts.textContent = this.#factsNow().join(" · ");
    this.#bound.textContent = this.#boundNow();
    if (this.#isArriving) this.#reveal();
    this.#isArriving = false;
    this.#cost = performance.now() - start;
    if (isMarked) this.#timer = setTimeout(() => this.#draw(), Math.max(MARKED / 4, 4 * this.#cost));
  }

  #factsNow() {
    const facts = [this.#answer.form, this.#words(), `sequence ${this.#sequence}`];
    if (this.asked.entailment) facts.push(`entailment ${this.asked.entailment.toUpperCase()}`);
    if (this.#changed) facts.push(`last change ${this.#changed}`);
    return facts;
  }

  /** Notes for an explored node that the limit of triples is reached, so there may be more. */
  #boundNow() {
    const { centre } = this.asked;
    if (!centre) return "";
    const self = keyOf({ term: centre }, ["term"]);
    const all = [...this.#answer.rows.values()].filter((row) => row.count > 0);
    const count = (/** @type {string} */ name) =>
      all.filter(({ binding }) => keyOf({ term: binding[name] }, ["term"]) === self).length;
    const full = ["subject", "object"].filter((name) => count(name) >= MOST);
    const shown = full.map((name) => `${MOST} triples with this node as ${name}`);
    return full.length ? `Shown are ${shown.join(" and ")}; there may be more.` : "";
  }

  #words() {
    if (this.#answer.form === "ASK") return this.#answer.boolean ? "yes" : "no";
    return counted(this.#answer.size, this.#answer.form === "CONSTRUCT" ? "triple" : "row");
  }

  #layOut() {
    const id = `panel-${++made}`;
    const heading = make("h3", { id, tabIndex: -1 }, this.title);
    const close = button("Unsubscribe", () => this.#listener.onClose(this));
    close.ariaLabel = `Unsubscribe from ${this.title}`;
    const json = button("JSON", () => downloadJson(this.#answer));
    const csv = button("CSV", () => downloadCsv(this.#answer));
    const download = make("div", { className: "row" }, "Download", json, csv, this.#turtle);
    this.#tools.append(this.#views.element, this.#table.filter, this.#key.element, download);
    const plan = make("div");
    const explained = folded("Plan", plan);
    const isPlanned = () => plan.hasChildNodes() && !plan.querySelector(".problem");
    explained.addEventListener("toggle", () => explained.open && !isPlanned() && showPlan(plan, this.asked.query, this.#explain()));
    explained.open = !this.asked.centre && matchMedia("(min-width: 60rem)").matches;
    const query = make("pre", { tabIndex: 0, role: "region", "aria-label": "Query" }, this.asked.query);
    return make(
      "article",
      { className: "card panel", "aria-labelledby": id },
      make("header", {}, heading, this.#connection.element, close),
      this.#connection.details,
      this.#facts,
      this.#tools,
      this.#bound,
      this.#truth,
      this.#table.element,
      this.#picture.element,
      make("div", { className: "charts" }, this.#updates.element, this.#deltas.element),
      folded("Query", query),
      explained,
      folded("Latest changes", this.#log.element),
    );
  }
}

/** @param {{sequence: number, first_sequence?: number, initial: boolean}} event */
function nameOf({ sequence, first_sequence: first = sequence, initial }) {
  if (initial) return `while away, up to ${sequence}`;
  return first < sequence ? `${first} to ${sequence}` : `${sequence}`;
}

/**
 * @param {string} title
 * @param {HTMLElement} content
 */
function folded(title, content) {
  return make("details", {}, make("summary", {}, title), content);
}

/** @param {HTMLElement} element */
function flash(element) {
  element.classList.add("came");
  setTimeout(() => element.classList.remove("came"), MARKED);
}
