/** The panel of one open subscription. */

import { announceChange } from "./announce.js";
import { Answer, MARKED } from "./answer.js";
import { ChangeLog } from "./change_log.js";
import { RateChart, ValueChart } from "./chart.js";
import { Connection } from "./connection.js";
import { downloadCsv, downloadJson, downloadTurtle } from "./download.js";
import { button, counted, folded, make } from "./elements.js";
import { boundOf } from "./explore.js";
import { GraphPicture, canDraw } from "./graph_picture.js";
import { KeyChoice, learnedKey } from "./key_choice.js";
import { Once } from "./once.js";
import { Pause } from "./pause.js";
import { showPlan } from "./picture.js";
import { explain } from "./server.js";
import { Misfit, Stream } from "./stream.js";
import { AnswerTable } from "./table.js";
import { prefixesOf } from "./terms.js";
import { regimeName, titleOf } from "./titles.js";
import { ViewChoice } from "./view_choice.js";

/** @typedef {import("./terms.js").Term} Term */
/**
 * @typedef {import("./server.js").Question & {rowKey?: string[] | null, centre?: Term, view?: string,
 *   isOnce?: boolean}} Asked
 *   `rowKey` are the columns that identify rows, undefined for the query's own; `centre` is the explored node;
 *   `view` is "picture" or "table"; `isOnce` is true without a subscription
 */

/** Milliseconds between two drawings; drawing takes at most a fifth of the time. */
const PACE = 60;

/** Pixels of a panel that are enough to see its content. */
const ENOUGH = 420;

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
  #updates = new RateChart("Updates");
  #deltas = new RateChart("Deltas");
  #value = new ValueChart();
  #pause = new Pause((events) => this.#goOn(events));
  #key = new KeyChoice((key) => this.#choose({ rowKey: key }));
  /** @type {HTMLButtonElement} */ #turtle;
  /** @type {Promise<any> | null} */ #explained = null;
  #timer = 0;
  #cost = 0;
  #sequence = 0;
  /** The first and last commit of the last change. */
  #commits = [0, 0];
  #changed = "";
  #isArriving = false;
  #isChanged = false;
  #isKeyKnown = false;
  #isClosed = false;

  /**
   * @param {Asked} asked
   * @param {{onClose: (panel: Panel) => void, onExplore: (panel: Panel, term: Term) => void,
   *   onChoice: () => void, onChange: (panel: Panel) => void}} listener `onChoice` is called after a choice, which
   *   `asked` contains, `onChange` after a change is drawn
   */
  constructor(asked, listener) {
    this.asked = asked;
    this.title = titleOf(asked.query);
    /** The server's id of the subscription. */
    this.id = "";
    this.prefixes = prefixesOf(asked.query);
    this.#listener = listener;
    this.stream = this.#source();
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

  /** Starts to follow the query, or shows its one answer. @param {any} [answer] */
  open(answer) {
    void this.stream.run(answer);
    if (!this.asked.isOnce) void this.#learnKey();
  }

  #source() {
    return new (this.asked.isOnce ? Once : Stream)(this.asked, {
      onEvent: (type, event) => this.#pause.holds(type, event) || this.#take(type, event),
      onState: (state) => this.#connection.show(state),
    });
  }

  /** Applies the events that were held. @param {[string, any][]} events */
  #goOn(events) {
    try {
      for (const [type, event] of events) this.#take(type, event);
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      this.stream.close(); // a new stream begins with the whole answer
      this.stream = this.#source();
      void this.stream.run();
    }
  }

  /** Returns true if the last change includes a commit. @param {number} commit */
  hasChangedBy(commit) {
    return this.#commits[0] <= commit && commit <= this.#commits[1];
  }

  /** Scrolls to the first row that has just changed. */
  showChange() {
    const place = this.#isPicture ? this.#picture.element : this.#table.lastChanged ?? this.#truth;
    place.scrollIntoView({ block: "nearest" });
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
    this.#value.take(this.#answer);
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
    const key = isUnsaid ? await learnedKey(() => this.#explain(), () => this.#isClosed) : undefined;
    if (key !== undefined) this.#answer.key = key; // the user can choose another afterwards
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
    this.#sequence = event.sequence ?? 0;
    if (isFirst) this.#offer();
    else if (turned || change.added.length || change.removed.length || change.changed.length) {
      this.#changed = new Date().toLocaleTimeString();
      this.#commits = [event.initial ? 0 : (event.first_sequence ?? event.sequence), event.sequence];
      this.#isChanged = true;
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
    this.#bound.textContent = this.asked.centre ? boundOf(this.asked.centre, this.#answer) : "";
    this.#value.take(this.#answer);
    if (this.#isArriving) this.#reveal();
    this.#isArriving = false;
    if (this.#isChanged) this.#listener.onChange(this);
    this.#isChanged = false;
    this.#cost = performance.now() - start;
    if (isMarked) this.#timer = setTimeout(() => this.#draw(), Math.max(MARKED / 4, 4 * this.#cost));
  }

  #factsNow() {
    const facts = [this.#words(), ...(this.asked.isOnce ? [] : [`sequence ${this.#sequence}`])];
    if (this.asked.entailment) facts.push(`${regimeName(this.asked.entailment)} entailment`);
    if (this.#changed) facts.push(`last change ${this.#changed}`);
    if (this.#pause.why) facts.push(this.#pause.why);
    return facts;
  }

  #words() {
    if (this.#answer.form === "ASK") return this.#answer.boolean ? "yes" : "no";
    return counted(this.#answer.size, this.#answer.form === "CONSTRUCT" ? "triple" : "row");
  }

  #layOut() {
    const id = `panel-${++made}`;
    const heading = make("h3", { id, tabIndex: -1 }, this.title);
    const { isOnce } = this.asked;
    const close = button(isOnce ? "Close" : "Unsubscribe", () => this.#listener.onClose(this));
    close.ariaLabel = isOnce ? `Close ${this.title}` : `Unsubscribe from ${this.title}`;
    const again = isOnce ? button("Run again", () => this.stream.retry()) : this.#pause.element;
    const json = button("JSON", () => downloadJson(this.#answer));
    const csv = button("CSV", () => downloadCsv(this.#answer));
    const download = make("div", { className: "row" }, make("span", { className: "word" }, "Download"), json, csv, this.#turtle);
    this.#tools.append(this.#views.element, this.#table.filter, this.#key.element, download);
    const plan = make("div");
    const explained = folded("Plan", plan);
    const isPlanned = () => plan.hasChildNodes() && !plan.querySelector(".problem");
    explained.addEventListener("toggle", () => explained.open && !isPlanned() && showPlan(plan, this.asked.query, this.#explain()));
    const query = make("pre", { tabIndex: 0, role: "region", "aria-label": "Query" }, this.asked.query);
    return make(
      "article",
      { className: "card panel", "aria-labelledby": id },
      make("header", {}, heading, this.#connection.element, again, close),
      this.#connection.details,
      this.#facts,
      this.#tools,
      this.#bound,
      this.#truth,
      this.#value.element,
      this.#table.element,
      this.#picture.element,
      make("div", { className: "charts" }, this.#updates.element, this.#deltas.element),
      make("div", { className: "lists" }, folded("Changes", this.#log.element), folded("Query", query), explained),
    );
  }
}

/** @param {{sequence: number, first_sequence?: number, initial: boolean}} event */
function nameOf({ sequence, first_sequence: first = sequence, initial }) {
  if (initial) return `while offline, up to ${sequence}`;
  return first < sequence ? `${first} to ${sequence}` : `${sequence}`;
}

/** @param {HTMLElement} element */
function flash(element) {
  element.classList.add("came");
  setTimeout(() => element.classList.remove("came"), MARKED);
}
