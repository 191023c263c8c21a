/** The predicates and classes of the data, as the server has counted them. */

import { may } from "./about.js";
import { vocabulary } from "./server.js";

/** @typedef {{iri: string, uses: number}} Use */
/** @typedef {{predicates: Use[], classes: Use[], complete: boolean, first: string}} Vocabulary */

/** Milliseconds after which it is asked for again, when somebody completes a word. */
const OLD = 30_000;

/** Asks for the vocabulary when it is needed, and gives what there is meanwhile. */
class Known {
  /** @type {Vocabulary} */ now = { predicates: [], classes: [], complete: false, first: "" };
  #asked = -OLD;

  /** Asks the server, unless it was asked a moment ago. */
  async refresh() {
    const age = performance.now() - this.#asked;
    if (!may("subscribe") || age < (this.now.complete ? OLD : OLD / 10)) return this.now;
    this.#asked = performance.now();
    try {
      this.now = await vocabulary();
    } catch {
      // without it a query is written without completion of its names
    }
    return this.now;
  }
}

export const known = new Known();
