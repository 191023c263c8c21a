/** The panel of one open subscription. */

import { announceChange } from "./announce.js";
import { Answer, MARKED } from "./answer.js";
import { ChangeLog } from "./change_log.js";
import { RateChart } from "./chart.js";
import { Connection } from "./connection.js";
import { downloadCsv, downloadJson } from "./download.js";
import { counted, make } from "./elements.js";
import { showPlan } from "./picture.js";
import { Stream } from "./stream.js";
import { AnswerTable } from "./table.js";
import { prefixesOf } from "./terms.js";
import { titleOf } from "./titles.js";

/** @typedef {{query: string, entailment: string}} Asked */

/** Milliseconds between two drawings; drawing takes no more than a fifth of the time. */
const PACE = 60;

let made = 0;

/** Follows a query and shows its answer, until it is closed. */
export class Panel {
  #connection;
  #log;
  #table;
  #answer = new Answer();
  #facts = make("p", { className: "facts" });
  #truth = make("p", { className: "truth" });
  #updates = new RateChart("Updates of the graph");
  #deltas = new RateChart("Deltas");
  #timer = 0;
  #cost = 0;
  #sequence = 0;
  #changed = "";

  /**
   * @param {Asked} asked
   * @param {{onClose: (panel: Panel) => void}} listener
   */
  constructor(asked, { onClose }) {
    this.asked = asked;
    this.title = titleOf(asked.query);
    /** The server's name of the subscription. */
    this.id = "";
    const prefixes = prefixesOf(asked.query);
    this.stream = new Stream(asked, {
      onEvent: (type, event) => this.#take(type, event),
      onState: (state) => this.#connection.show(state),
    });
    this.#connection = new Connection(this.title, () => this.stream.retry());
    this.#log = new ChangeLog(prefixes);
    this.#table = new AnswerTable(this.#answer, prefixes, { title: this.title, onChoice: () => this.#plan() });
    this.element = this.#layOut(() => onClose(this));
  }

  /** Begins to follow the query. */
  open() {
    void this.stream.run();
  }

  /** Ends it. */
  close() {
    this.stream.close();
    this.#connection.close();
    clearTimeout(this.#timer);
    this.element.remove();
  }

  /** Moves the focus here. */
  focus() {
    this.element.querySelector("h3")?.focus();
    this.element.scrollIntoView({ block: "nearest" });
  }

  /**
   * Takes what the server says of this subscription.
   * @param {{deltas: number, stats: {updates?: number}}} described
   * @param {number} at seconds
   */
  describe({ deltas, stats }, at) {
    this.#updates.take(stats.updates ?? 0, at);
    this.#deltas.take(deltas, at);
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
    if (!isFirst && (turned || change.added.length || change.removed.length)) {
      this.#changed = new Date().toLocaleTimeString();
      if (turned) this.#log.entry(nameOf(event), this.#words());
      else this.#log.add(nameOf(event), change);
      announceChange(this.title, change.added.length, change.removed.length, this.#words());
      if (turned) flash(this.#truth);
    }
    this.#plan();
  }

  /** Draws soon: what comes until then is drawn with it. */
  #plan() {
    this.#timer ||= setTimeout(() => this.#draw(), Math.max(PACE, 4 * this.#cost));
  }

  #draw() {
    const start = performance.now();
    this.#timer = 0;
    if (this.#answer.isEmpty) return;
    const isMarked = this.#answer.settle();
    const isTable = this.#answer.form !== "ASK";
    this.#truth.hidden = isTable;
    this.#table.element.hidden = this.#table.filter.hidden = !isTable;
    if (isTable) this.#table.draw();
    else this.#truth.textContent = this.#words();
    const facts = [this.#answer.form, this.#words(), `sequence ${this.#sequence}`];
    if (this.asked.entailment) facts.push(`entailment ${this.asked.entailment.toUpperCase()}`);
    if (this.#changed) facts.push(`last change ${this.#changed}`);
    this.#facts.textContent = facts.join(" · ");
    this.#cost = performance.now() - start;
    if (isMarked) this.#timer = setTimeout(() => this.#draw(), Math.max(MARKED / 4, 4 * this.#cost));
  }

  #words() {
    if (this.#answer.form === "ASK") return this.#answer.boolean ? "yes" : "no";
    return counted(this.#answer.size, this.#answer.form === "CONSTRUCT" ? "triple" : "row");
  }

  /** @param {() => void} onClose */
  #layOut(onClose) {
    const id = `panel-${++made}`;
    const heading = make("h3", { id, tabIndex: -1 }, this.title);
    const close = make("button", { type: "button", "aria-label": `Unsubscribe from ${this.title}` }, "Unsubscribe");
    close.addEventListener("click", onClose);
    const json = make("button", { type: "button" }, "JSON");
    json.addEventListener("click", () => downloadJson(this.#answer));
    const csv = make("button", { type: "button" }, "CSV");
    csv.addEventListener("click", () => downloadCsv(this.#answer));
    const download = make("div", { className: "row" }, "Download", json, csv);
    const plan = make("div");
    const explained = folded("How it is kept up to date", plan);
    explained.addEventListener("toggle", () => explained.open && !plan.hasChildNodes() && showPlan(plan, this.asked));
    explained.open = matchMedia("(min-width: 60rem)").matches;
    const query = make("pre", { tabIndex: 0, role: "region", "aria-label": "Query" }, this.asked.query);
    return make(
      "article",
      { className: "card panel", "aria-labelledby": id },
      make("header", {}, heading, this.#connection.element, close),
      this.#connection.details,
      this.#facts,
      make("div", { className: "row tools" }, this.#table.filter, download),
      this.#truth,
      this.#table.element,
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
