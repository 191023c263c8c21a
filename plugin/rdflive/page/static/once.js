/** One answer of `/query`, without a subscription. */

import { Problem, problemOf } from "./server.js";
import { triplesOf } from "./n_triples.js";

/** @typedef {import("./panel.js").Asked} Asked */

/** Characters of the longest answer that the page takes. */
const LONGEST = 50_000_000;
const GRAPH = "application/n-triples";

/**
 * Returns the answer in the form of a stream's first event; throws `Problem`.
 * @param {Asked} asked
 */
export async function answerOf({ query }) {
  const headers = { Accept: `application/sparql-results+json, ${GRAPH}` };
  const response = await fetch("query", { method: "POST", headers, body: new URLSearchParams({ query }) });
  if (!response.ok) throw await problemOf(response);
  const text = await textOf(response);
  if (response.headers.get("Content-Type")?.startsWith(GRAPH)) {
    return { form: "CONSTRUCT", head: { vars: ["subject", "predicate", "object"] }, added: triplesOf(text) };
  }
  const { head, boolean, results } = JSON.parse(text);
  return { form: results ? "SELECT" : "ASK", head, boolean, added: results?.bindings };
}

/** @param {Response} response */
async function textOf({ body }) {
  let text = "";
  if (!body) return text;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    text += piece.value;
    if (text.length <= LONGEST) continue;
    void reader.cancel();
    throw new Problem({ title: "The answer is too large for this page. Add LIMIT to the query." });
  }
  return text;
}

/** Runs a query when asked, in the place of a `Stream`. */
export class Once {
  #asked;
  #onEvent;
  #onState;
  #isClosed = false;

  /**
   * @param {Asked} asked
   * @param {ConstructorParameters<typeof import("./stream.js").Stream>[1]} listener
   */
  constructor(asked, { onEvent, onState }) {
    this.#asked = asked;
    this.#onEvent = onEvent;
    this.#onState = onState;
  }

  /** Runs the query, or shows an answer that is there already. @param {any} [answer] */
  async run(answer) {
    this.#onState({ name: "connecting" });
    try {
      const event = answer ?? (await answerOf(this.#asked));
      if (this.#isClosed) return;
      this.#onState({ name: "once", at: new Date() });
      this.#onEvent("initial", event);
    } catch (error) {
      const why = error instanceof Problem ? error.words : "The server was not reached.";
      if (!this.#isClosed) this.#onState({ name: "ended", why });
    }
  }

  /** Ignores an answer that is still to come. */
  close() {
    this.#isClosed = true;
  }

  retry() {
    void this.run();
  }
}
