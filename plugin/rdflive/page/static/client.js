/**
 * The client for web pages, which follows queries of an rdflive server. It needs no build step:
 *
 *     import { subscribe } from "http://127.0.0.1:8000/static/client.js";
 *
 *     const late = subscribe("SELECT ?train { ?train <urn:delay> ?minutes }", ({ added, removed }) => {
 *       console.log(added, removed, late.answers());
 *     });
 */

import { difference, keyOf, paired } from "./pairs.js";
import { HERE, Misfit, Stream } from "./stream.js";

/**
 * @typedef {import("./terms.js").Binding} Binding a row: a term of SPARQL 1.1 Query Results JSON for each variable; it
 *   is frozen, because later answers contain it too
 */
/** @typedef {import("./stream.js").State} State */
/**
 * @typedef {object} Delta
 * @property {Binding[]} added rows that came, each as often as it came
 * @property {Binding[]} removed rows that went
 * @property {import("./pairs.js").Pair[]} changed with the option `key`: rows that changed, in neither of the others
 * @property {boolean | null} boolean the answer of ASK
 * @property {boolean} initial true for the first delta, which adds the whole answer
 * @property {number} sequence the number of the last commit that the delta includes
 */
/**
 * @typedef {object} Options
 * @property {string | URL} [server] the address of the server; without it the one that this file comes from
 * @property {string} [token] the token of a server with `--tokens`
 * @property {string} [entailment] `"rdfs"` answers over what the graph entails, `"rules"` by the server's rules
 * @property {string[]} [key] variables that identify a row
 * @property {(state: State) => void} [onState] called when the connection is made, is lost, or has ended for good
 */

/**
 * Subscribes to a query. The client reconnects by itself and receives what it missed, so that the deltas always add
 * up to the answer.
 * @param {string} query SELECT, ASK or CONSTRUCT, whose triples bind `subject`, `predicate` and `object`
 * @param {(delta: Delta) => void} onDelta
 * @param {Options} [options]
 */
export function subscribe(query, onDelta, options = {}) {
  return new Subscription(query, onDelta, options);
}

/** The answer of a query, which follows the server until it is closed. */
class Subscription {
  /** The answer of ASK, else null; null also before the first delta. @type {boolean | null} */ boolean = null;
  /** @type {Map<string, {binding: Binding, count: number}>} */ #rows = new Map();
  /** @type {string[]} */ #names = [];
  #isEmpty = true;
  #stream;
  #onDelta;
  #key;

  /**
   * @param {string} query
   * @param {(delta: Delta) => void} onDelta
   * @param {Options} options
   */
  constructor(query, onDelta, options) {
    const { server = HERE, token = "", entailment, key, onState = report } = options;
    if (!isText(query)) throw new TypeError("subscribe(query, onDelta): query must be text");
    if (!isFunction(onDelta)) throw new TypeError("subscribe(query, onDelta): onDelta must be a function");
    check({ ...options, server });
    this.#onDelta = caught(onDelta);
    this.#key = key ?? null;
    const onEvent = (/** @type {string} */ type, /** @type {any} */ event) => this.#take(type, event);
    const listener = { onEvent, onState: caught(onState) };
    this.#stream = new Stream({ query, entailment, key }, listener, { server: folder(server), token });
    queueMicrotask(() => this.#stream.run()); // after `subscribe` has returned
  }

  /** Returns the rows of the answer, each as often as it occurs. */
  answers() {
    return [...this.#rows.values()].flatMap(({ binding, count }) => /** @type {Binding[]} */ (Array(count).fill(binding)));
  }

  /** Ends the subscription. */
  close() {
    this.#stream.close();
  }

  /**
   * @param {string} type
   * @param {any} event
   */
  #take(type, event) {
    if (type !== "initial" && type !== "update") return;
    const { added, removed } = type === "initial" ? this.#begun(event) : unpaired(event);
    for (const binding of [...added, ...removed]) freeze(binding);
    this.#apply(added, removed);
    const turned = "boolean" in event && event.boolean !== this.boolean;
    this.boolean = event.boolean ?? this.boolean;
    const initial = this.#isEmpty;
    this.#isEmpty = false;
    if (!initial && !turned && added.length + removed.length === 0) return; // an answer that was the same when sent again
    const delta = { ...paired(added, removed, this.#key), boolean: this.boolean, initial, sequence: event.sequence };
    this.#onDelta(delta);
  }

  /** Returns the difference to a whole answer. @param {any} event */
  #begun(event) {
    this.#names = event.head?.vars ?? [];
    return difference(this.#rows, event.added ?? [], this.#names);
  }

  /**
   * Applies a difference; throws `Misfit`, and applies none of it, if a removed row is missing.
   * @param {Binding[]} added
   * @param {Binding[]} removed
   */
  #apply(added, removed) {
    const rows = new Map();
    const count = (/** @type {Binding} */ binding, /** @type {number} */ step) => {
      const key = keyOf(binding, this.#names);
      const row = rows.get(key) ?? this.#rows.get(key);
      rows.set(key, { binding, count: (row?.count ?? 0) + step });
    };
    for (const binding of added) count(binding, 1);
    for (const binding of removed) count(binding, -1);
    for (const row of rows.values()) if (row.count < 0) throw new Misfit("a missing row was removed");
    for (const [key, row] of rows) {
      if (row.count === 0) this.#rows.delete(key);
      else this.#rows.set(key, row);
    }
  }
}

const isText = (/** @type {unknown} */ value) => typeof value === "string";
const isFunction = (/** @type {unknown} */ value) => typeof value === "function";
/** What each option must be, in words and as a test. @type {Record<string, [string, (value: any) => boolean]>} */
const OPTIONS = {
  server: ["the http or https address of a server, without a password", isAddress],
  token: ["ASCII characters without spaces", (value) => isText(value) && /^[!-~]*$/.test(value)],
  entailment: ['text, such as "rdfs"', isText],
  key: ['a list of variables, such as ["train"]', (value) => Array.isArray(value) && value.every(isText)],
  onState: ["a function", isFunction],
};

/** Throws an error that names the first wrong option, and not its value, which may be secret. @param {object} options */
function check(options) {
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(OPTIONS, name)) throw new TypeError(`subscribe has no option ${JSON.stringify(name)}`);
    const [accepted, isAccepted] = OPTIONS[name];
    if (value === undefined || isAccepted(value)) continue;
    throw new TypeError(`subscribe: the option ${name} must be ${accepted}`);
  }
}

/** Returns true for an address that `fetch` takes. @param {unknown} server */
function isAddress(server) {
  const base = globalThis.document?.baseURI;
  if (!(typeof server === "string" || server instanceof URL) || !URL.canParse(server, base)) return false;
  const { protocol, username, password } = new URL(server, base);
  return /^https?:$/.test(protocol) && !username && !password;
}

/**
 * Returns a callback whose exceptions are reported, as those of other listeners are, and end nothing.
 * @template T
 * @param {(value: T) => void} callback
 * @returns {(value: T) => void}
 */
function caught(callback) {
  return (value) => {
    try {
      callback(value);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  };
}

/** Makes a row read-only, with all parts of its terms. @param {object} part */
function freeze(part) {
  Object.freeze(part);
  for (const inner of Object.values(part)) if (typeof inner === "object") freeze(inner);
}

/** Returns the rows of a delta; those that the server has paired by a key are one that went and one that came. @param {any} event */
function unpaired({ added = [], removed = [], changed = [] }) {
  const [olds, news] = [changed.map(({ old }) => old), changed.map((pair) => pair.new)];
  return { added: [...added, ...news], removed: [...removed, ...olds] };
}

/** Returns the address of a server, to which the names of its resources can be added. @param {string | URL} server */
function folder(server) {
  const url = new URL(server, globalThis.document?.baseURI);
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}

/** Reports the end of a subscription whose page has no `onState`. @param {State} state */
function report(state) {
  if (state.name === "ended") console.error(`rdflive: the subscription has ended: ${state.why}`);
}
