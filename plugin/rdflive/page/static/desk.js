/** The open panels, which are restored when the page is loaded again. */

import { HAS_SHAPES, PREFIXES } from "./about.js";
import { byId } from "./elements.js";
import { around } from "./explore.js";
import { Panel } from "./panel.js";
import { form } from "./server.js";
import { isAsked, keep, kept } from "./storage.js";

/** @typedef {import("./panel.js").Asked} Asked */

const KEPT = "rdflive.open";
/** A browser has six connections to a server: one for each panel, for the validation, and for the page. */
const MOST = HAS_SHAPES ? 4 : 5;

/** Holds the open panels, and keeps them in the tab's storage. */
export class Desk {
  /** @type {Panel[]} */ #panels = [];
  /** A commit whose change is to be shown, 0 for none. */
  #sought = 0;

  /** Opens the panels of the last time. */
  restore() {
    const all = kept("sessionStorage", KEPT);
    if (Array.isArray(all)) for (const asked of all.filter(isAsked).slice(0, MOST)) this.#add(asked);
  }

  /** True without panels. */
  get isEmpty() {
    return this.#panels.length === 0;
  }

  /**
   * Opens a subscription, or shows its present panel, and moves the focus there.
   * @param {Asked} asked
   * @param {boolean} isLeading false if the focus stays
   */
  open(asked, isLeading = true) {
    const found = this.#find(asked);
    if (!found && this.#subscribed.length >= MOST) return this.#refuse();
    const panel = found ?? this.#add(asked);
    if (isLeading) panel.focus();
  }

  /**
   * Shows an answer without a subscription, in place of the last one of the query.
   * @param {Asked} asked
   * @param {any} answer
   */
  show(asked, answer) {
    this.#add({ ...asked, isOnce: true }, this.#find(asked, true), answer).focus();
  }

  /** Moves the first answer that a commit changes into view. @param {number} commit */
  seek(commit) {
    this.#sought = commit;
    for (const panel of this.#panels) this.#reveal(panel);
  }

  /** @param {Panel} panel */
  #reveal(panel) {
    if (!this.#sought || !panel.hasChangedBy(this.#sought)) return;
    this.#sought = 0;
    panel.showChange();
  }

  get #subscribed() {
    return this.#panels.filter(({ asked }) => !asked.isOnce);
  }

  /** Shows the links of a node. @param {import("./terms.js").Term} term */
  explore(term) {
    this.open(around(term, { prefixes: new Map(PREFIXES), entailment: "" }));
  }

  /** Opens a subscription without a request of the user: the focus stays. @param {Asked} asked */
  begin(asked) {
    this.#add(asked);
  }

  /** The server's ids of the open panels. */
  get ids() {
    return new Set(this.#panels.map(({ id }) => id).filter(Boolean));
  }

  /**
   * Passes the server's descriptions of subscriptions to the panels.
   * @param {any[]} described
   */
  describe(described) {
    const at = performance.now() / 1000;
    const byName = new Map(described.map((one) => [one.id, one]));
    for (const panel of this.#panels) {
      const found = byName.get(panel.id);
      if (found) panel.describe(found, at);
    }
  }

  /** Finds the panel of a query. @param {Asked} asked */
  #find(asked, isOnce = false) {
    const wanted = String(form(asked));
    return this.#panels.find((panel) => String(form(panel.asked)) === wanted && Boolean(panel.asked.isOnce) === isOnce);
  }

  /**
   * Adds a panel at the top, or in place of another.
   * @param {Asked} asked
   * @param {Panel} [replaced]
   * @param {any} [answer] of a query that is asked once
   */
  #add(asked, replaced, answer) {
    const panel = new Panel(asked, {
      onClose: (closed) => this.#close(closed),
      onExplore: (from, term) => this.#explore(from, term),
      onChoice: () => this.#keep(),
      onChange: (changed) => this.#reveal(changed),
    });
    const place = replaced ? this.#panels.indexOf(replaced) : 0;
    this.#panels.splice(place, replaced ? 1 : 0, panel);
    if (replaced) replaced.element.before(panel.element);
    else byId("panels").prepend(panel.element);
    replaced?.close();
    this.#changed();
    panel.open(answer);
    return panel;
  }

  /**
   * Shows the links of a node; exploring from node to node stays in one panel.
   * @param {Panel} from
   * @param {import("./terms.js").Term} term
   */
  #explore(from, term) {
    const asked = around(term, { prefixes: from.prefixes, entailment: from.asked.entailment });
    if (from.asked.centre && !this.#find(asked)) this.#add(asked, from).focus();
    else this.open(asked);
  }

  /** @param {Panel} panel */
  #close(panel) {
    panel.close();
    this.#panels = this.#panels.filter((other) => other !== panel);
    this.#changed();
    (this.#panels[0] ?? byId("open")).focus();
  }

  #refuse() {
    const words = byId("open-limit");
    words.textContent = `${MOST} subscriptions are open, the limit of a browser. Unsubscribe from one first.`;
    words.scrollIntoView({ block: "nearest" });
  }

  #changed() {
    byId("open-limit").textContent = "";
    byId("open-none").hidden = this.#panels.length > 0;
    this.#keep();
  }

  #keep() {
    const asked = this.#subscribed.map((panel) => panel.asked).reverse();
    keep("sessionStorage", KEPT, asked);
  }
}
