/** The panels that are open, which come back when the page is loaded again. */

import { byId } from "./elements.js";
import { Panel } from "./panel.js";
import { isAsked, keep, kept } from "./storage.js";

/** @typedef {import("./panel.js").Asked} Asked */

const KEPT = "rdflive.open";
/** A browser keeps six connections to a server: each panel holds one, and the page needs one too. */
const MOST = 5;

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
   * Opens a subscription, or shows the panel that has it already.
   * @param {Asked} asked
   */
  open(asked) {
    const { query, entailment } = asked;
    const panel = this.#panels.find(({ asked }) => asked.query === query && asked.entailment === entailment);
    if (panel || this.#panels.length < MOST) (panel ?? this.#add(asked)).focus();
    else this.#refuse();
  }

  /** Opens a subscription that nobody has asked for: the focus stays. @param {Asked} asked */
  begin(asked) {
    this.#add(asked);
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

  /** @param {Asked} asked */
  #add(asked) {
    const panel = new Panel(asked, { onClose: (closed) => this.#close(closed) });
    this.#panels.unshift(panel);
    byId("panels").prepend(panel.element);
    this.#changed();
    panel.open();
    return panel;
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
    const asked = this.#panels.map((panel) => panel.asked).reverse();
    keep("sessionStorage", KEPT, asked);
  }
}
