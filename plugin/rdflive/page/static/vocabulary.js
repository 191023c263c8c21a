/** The predicates and classes of the data, from the server. */

import { may } from "./about.js";
import { vocabulary } from "./server.js";

/** @typedef {{iri: string, uses: number}} Use */
/** @typedef {{predicates: Use[], classes: Use[], complete: boolean, first: string, triples: number}} Vocabulary */

/** Milliseconds after which a completion requests the vocabulary again. */
const OLD = 30_000;

/** Requests the vocabulary when needed, and keeps the last one. */
class Known {
  /** @type {Vocabulary} */ now = { predicates: [], classes: [], complete: false, first: "", triples: 0 };
  #asked = -OLD;
  #last = Promise.resolve(this.now);

  /** Requests it again at the next use: the data have changed. */
  forget() {
    this.#asked = -OLD;
  }

  /** Returns the vocabulary, requested again unless the last request is recent. */
  refresh() {
    const age = performance.now() - this.#asked;
    if (!may("subscribe") || age < (this.now.complete ? OLD : OLD / 10)) return this.#last;
    this.#asked = performance.now();
    return (this.#last = this.#request());
  }

  async #request() {
    try {
      this.now = await vocabulary();
    } catch {
      // without it names are not completed
    }
    return this.now;
  }
}

export const known = new Known();
