/** The panels that are open, which come back when the page is loaded again. */

import { HAS_SHAPES, PREFIXES } from "./about.js";
import { byId } from "./elements.js";
import { around } from "./explore.js";
import { Panel } from "./panel.js";
import { form } from "./server.js";
import { isAsked, keep, kept } from "./storage.js";

/** @typedef {import("./panel.js").Asked} Asked */

const KEPT = "rdflive.open";
/** A browser keeps six connections to a server: each panel holds one, the validation too, and the page needs one. */
const MOST = HAS_SHAPES ? 4 : 5;

/** Holds the open panels; the tab's own storage remembers them. */
export class Desk {
  /** @type {Panel[]} */ #panels = [];

  /** Opens what was open before. */
  restore() {
    const all = kept("sessionStorage", KEPT);
    if (Array.isArray(all)) for (const asked of all.filter(isAsked).slice(0, MOST)) this.#add(asked);
  }

  /** Whether nothing is open. */
  get isEmpty() {
    return this.#panels.length === 0;
  }

  /**
   * Opens a subscription, or shows the panel that has it already, and leads there.
   * @param {Asked} asked
   * @param {boolean} isLeading False where the focus stays
   */
  open(asked, isLeading = true) {
    const found = this.#find(asked);
    if (!found && this.#panels.length >= MOST) return this.#refuse();
    const panel = found ?? this.#add(asked);
    if (isLeading) panel.focus();
  }

  /** Shows what a node is linked to. @param {import("./terms.js").Term} term */
  explore(term) {
    this.open(around(term, { prefixes: new Map(PREFIXES), entailment: "" }));
  }

  /** Opens a subscription that nobody has asked for: the focus stays. @param {Asked} asked */
  begin(asked) {
    this.#add(asked);
  }

  /** Gives the server's names of what is open here. */
  get ids() {
    return new Set(this.#panels.map(({ id }) => id).filter(Boolean));
  }

  /**
   * Hands what the server says of its subscriptions to the panels.
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

  /** Finds the panel of a question. @param {Asked} asked */
  #find(asked) {
    const wanted = String(form(asked));
    return this.#panels.find((panel) => String(form(panel.asked)) === wanted);
  }

  /**
   * Adds a panel on top, or in the place of another.
   * @param {Asked} asked
   * @param {Panel} [replaced]
   */
  #add(asked, replaced) {
    const panel = new Panel(asked, {
      onClose: (closed) => this.#close(closed),
      onExplore: (from, term) => this.#explore(from, term),
      onChoice: () => this.#keep(),
    });
    const place = replaced ? this.#panels.indexOf(replaced) : 0;
    this.#panels.splice(place, replaced ? 1 : 0, panel);
    if (replaced) replaced.element.before(panel.element);
    else byId("panels").prepend(panel.element);
    replaced?.close();
    this.#changed();
    panel.open();
    return panel;
  }

  /**
   * Shows what a node is linked to. Who goes on from node to node goes on in one panel.
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
    words.textContent = `${MOST} subscriptions are open, as many as a browser can follow: unsubscribe from one first.`;
    words.scrollIntoView({ block: "nearest" });
  }

  #changed() {
    byId("open-limit").textContent = "";
    byId("open-none").hidden = this.#panels.length > 0;
    this.#keep();
  }

  #keep() {
    const asked = this.#panels.map((panel) => panel.asked).reverse();
    keep("sessionStorage", KEPT, asked);
  }
}
