/** The subscriptions that are live on the server, whoever opened them. */

import { byId, counted, make } from "./elements.js";
import { subscriptions } from "./server.js";
import { titleOf } from "./titles.js";

const PAUSE = 2_000;
const SHOWN = 50;

/** @typedef {{item: HTMLLIElement, facts: HTMLElement}} Entry */

/** Asks the server every two seconds, and lists what it says. */
export class Served {
  /** @type {Map<string, Entry>} */ #entries = new Map();
  #onOpen;
  #onNews;

  /** @param {{onOpen: (asked: import("./panel.js").Asked) => void, onNews: (described: any[]) => void}} listener */
  constructor({ onOpen, onNews }) {
    this.#onOpen = onOpen;
    this.#onNews = onNews;
  }

  /** Goes on for as long as the page is there. */
  async run() {
    for (;;) {
      if (!document.hidden) await this.#ask();
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }

  async #ask() {
    const state = byId("server");
    try {
      const described = await subscriptions();
      state.dataset.state = "connected";
      state.textContent = "server reached";
      this.#draw(described);
      this.#onNews(described);
    } catch (error) {
      state.dataset.state = "waiting";
      state.textContent = `server not reached${error instanceof TypeError ? "" : `: ${messageOf(error)}`}`;
    }
  }

  /** @param {any[]} described */
  #draw(described) {
    const shown = described.slice(0, SHOWN);
    const ids = new Set(shown.map(({ id }) => id));
    for (const [id, { item }] of this.#entries) {
      if (!ids.has(id)) {
        item.remove();
        this.#entries.delete(id);
      }
    }
    for (const one of shown) {
      const { facts } = this.#entries.get(one.id) ?? this.#add(one);
      const words = `${counted(one.rows, "row")} · ${counted(one.clients, "client")}`;
      if (facts.textContent !== words) facts.textContent = words;
    }
    byId("served-none").hidden = described.length > 0;
    const rest = byId("served-rest");
    rest.hidden = described.length <= SHOWN;
    rest.textContent = `and ${(described.length - SHOWN).toLocaleString("en")} more`;
  }

  /**
   * @param {{id: string, query: string, entailment: string | null}} one
   * @returns {Entry}
   */
  #add({ id, query, entailment }) {
    const title = titleOf(query);
    const facts = make("span", { className: "quiet" });
    const regime = entailment ? [make("span", { className: "quiet" }, entailment.toUpperCase())] : [];
    const button = make("button", { type: "button", title: query }, make("span", {}, title), ...regime, facts);
    button.addEventListener("click", () => this.#onOpen({ query, entailment: entailment ?? "" }));
    const item = make("li", {}, button);
    byId("served").append(item);
    const entry = { item, facts };
    this.#entries.set(id, entry);
    return entry;
  }
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
