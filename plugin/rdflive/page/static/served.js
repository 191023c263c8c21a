/** The open subscriptions of all the server's clients. */

import { button, byId, counted, make } from "./elements.js";
import { Problem, subscriptions } from "./server.js";
import { regimeName, titleOf } from "./titles.js";

const PAUSE = 2_000;
const SHOWN = 50;

/** @typedef {import("./panel.js").Asked} Asked */
/** @typedef {{item: HTMLLIElement, facts: HTMLElement, mark: HTMLElement}} Entry */

/** Lists the subscriptions, and updates the list every two seconds. */
export class Served {
  /** @type {Map<string, Entry>} */ #entries = new Map();
  #onOpen;
  #onNews;
  #mine;

  /**
   * @param {{onOpen: (asked: Asked) => void, onNews: (described: any[]) => void, mine: () => Set<string>}} listener
   *   `mine` returns the ids of the panels of this page
   */
  constructor({ onOpen, onNews, mine }) {
    this.#onOpen = onOpen;
    this.#onNews = onNews;
    this.#mine = mine;
  }

  /** Runs while the page is open. */
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
      state.textContent = "Connected";
      // the validation has its own place
      this.#draw(described.filter(({ id }) => id !== "validation"));
      this.#onNews(described);
    } catch (error) {
      state.dataset.state = "waiting";
      state.textContent = error instanceof Problem ? error.message : "Not connected";
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
    const mine = this.#mine();
    for (const one of shown) {
      const { facts, mark } = this.#entries.get(one.id) ?? this.#add(one);
      mark.hidden = !mine.has(one.id);
      const words = `${counted(one.rows, "row")} · ${subscribed(one.clients, mine.has(one.id))}`;
      if (facts.textContent !== words) facts.textContent = words;
    }
    byId("served-none").hidden = described.length > 0;
    byId("served-all").textContent = described.length > 0 ? summed(described, mine) : "";
    const rest = byId("served-rest");
    rest.hidden = described.length <= SHOWN;
    rest.textContent = `and ${(described.length - SHOWN).toLocaleString("en")} more`;
  }

  /**
   * @param {{id: string, query: string, entailment: string | null, key: string[], node: string | null}} one
   * @returns {Entry}
   */
  #add({ id, query, entailment, key, node }) {
    const facts = make("span", { className: "quiet" });
    const mark = make("span", { className: "mine", hidden: true }, "open here");
    const title = make("span", {}, make("span", {}, titleOf(query)), " ", mark);
    const options = [entailment && regimeName(entailment), key.length > 0 && `key ${key.map((name) => `?${name}`).join(" ")}`];
    const regime = options.filter(Boolean).map((option) => make("span", { className: "quiet" }, String(option)));
    const asked = { query, entailment: entailment ?? "", key, node: node ?? "" };
    const item = make("li", {}, button([title, ...regime, facts], () => this.#onOpen(asked), { title: query }));
    byId("served").append(item);
    const entry = { item, facts, mark };
    this.#entries.set(id, entry);
    return entry;
  }
}

/**
 * Writes the numbers of queries and subscriptions, and of this page's subscriptions.
 * @param {any[]} described
 * @param {Set<string>} mine
 */
function summed(described, mine) {
  const here = described.filter(({ id, clients }) => clients > 0 && mine.has(id)).length; // a panel may have lost its connection
  const clients = described.reduce((sum, one) => sum + one.clients, 0);
  const words = [counted(described.length, "query", "queries"), counted(clients, "subscription")];
  if (here > 0) words.push(`${here} here`);
  return words.join(", ");
}

/**
 * Writes the number of subscribers, and marks this page among them.
 * @param {number} clients
 * @param {boolean} isMine
 */
function subscribed(clients, isMine) {
  const words = clients === 0 ? "no subscribers" : counted(clients, "subscriber");
  if (!isMine || clients === 0) return words;
  return clients === 1 ? "only you" : `${words}, you included`;
}
