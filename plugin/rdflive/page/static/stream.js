/** A subscription's event stream, which reconnects when the connection is lost. */

import { EventParser } from "./events.js";
import { Problem, form, problemOf } from "./server.js";

/** Milliseconds without a byte after which the connection counts as lost; heartbeats are more frequent. */
const SILENCE = 45_000;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;
/** Statuses after which no retry can succeed. */
const FINAL = new Set([400, 401, 403, 404, 405, 413, 414, 415, 422]);
/** The address of the server that this file comes from. */
export const HERE = new URL("..", import.meta.url);

/**
 * @typedef {{name: "connecting" | "connected"} | {name: "waiting", until: number, why: string}
 *   | {name: "ended", why: string} | {name: "once", at: Date}} State `until` is in milliseconds, as `Date.now()`
 */

/** Follows `/subscribe` for one query, or `/validation`, until it is closed or the server ends it. */
export class Stream {
  #asked;
  #onEvent;
  #onState;
  #access;
  #lastId = "";
  #failures = 0;
  #closed = false;
  /** @type {AbortController | null} */ #connection = null;
  /** @type {(() => void) | null} */ #wake = null;

  /**
   * @param {import("./server.js").Question | null} asked null for the validation
   * @param {{onEvent: (type: string, data: any) => void, onState: (state: State) => void}} listener
   * @param {{server: URL, token: string}} [access] the server and its token, for pages other than its own
   */
  constructor(asked, { onEvent, onState }, access) {
    this.#asked = asked;
    this.#onEvent = onEvent;
    this.#onState = onState;
    this.#access = access;
  }

  /** Connects and reconnects; returns when the stream has ended. */
  async run() {
    while (!this.#closed) {
      this.#onState({ name: "connecting" });
      if (this.#closed) return; // the listener may close it
      let lost = new Lost("the connection was lost");
      try {
        await this.#follow();
      } catch (error) {
        if (error instanceof Problem) return this.#end(error.message);
        if (error instanceof Misfit) this.#lastId = "";
        if (error instanceof Lost) lost = error;
      }
      if (!this.#closed) await this.#pause(lost);
    }
  }

  /** Ends the subscription. */
  close() {
    this.#closed = true;
    this.#connection?.abort();
    this.#wake?.();
  }

  /** Tries again at once. */
  retry() {
    this.#wake?.();
  }

  /** Follows one connection to its end. */
  async #follow() {
    const connection = (this.#connection = new AbortController());
    const silence = new Timeout(SILENCE, () => connection.abort(new Lost("the server stopped sending")));
    try {
      const response = await this.#request(connection.signal);
      if (FINAL.has(response.status)) throw await this.#problem(response);
      if (!response.ok || !response.body) {
        const { message } = await this.#problem(response);
        throw new Lost(message, Number(response.headers.get("Retry-After")) || 0);
      }
      this.#onState({ name: "connected" });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const parser = new EventParser();
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        silence.restart();
        for (const event of parser.take(piece.value)) this.#take(event);
      }
    } finally {
      silence.stop();
      connection.abort(); // also after an invalid event
    }
  }

  /** @param {AbortSignal} signal */
  #request(signal) {
    const { server, token } = this.#access ?? { server: HERE, token: "" };
    const headers = new Headers({ Accept: "text/event-stream" });
    if (token) headers.set("Authorization", `Bearer ${token}`);
    if (this.#lastId) headers.set("Last-Event-ID", this.#lastId);
    const options = { headers, signal, cache: /** @type {const} */ ("no-store") };
    if (!this.#asked) return fetch(new URL("validation", server), options);
    return fetch(new URL("subscribe", server), { ...options, method: "POST", body: form(this.#asked) });
  }

  /** @param {Response} response */
  #problem(response) {
    return problemOf(response, !this.#access);
  }

  /** @param {import("./events.js").ServerEvent} event */
  #take({ type, data, id }) {
    if (this.#closed) return;
    const message = JSON.parse(data);
    if (type === "end") throw new Problem(message);
    this.#deliver(type, message);
    if (id !== null) this.#lastId = id;
    this.#failures = 0;
  }

  /**
   * @param {string} type
   * @param {any} message
   */
  #deliver(type, message) {
    try {
      this.#onEvent(type, message);
    } catch (error) {
      if (error instanceof Misfit) throw error;
      reportError(error);
      throw new Problem({ detail: "this page cannot show the answer; its console has the error" });
    }
  }

  /** @param {Lost} lost */
  async #pause(lost) {
    const backOff = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.#failures++);
    const wait = Math.max(lost.seconds * 1000, backOff * (0.75 + Math.random() / 2));
    this.#onState({ name: "waiting", until: Date.now() + wait, why: lost.message });
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, wait);
      this.#wake = () => (clearTimeout(timer), resolve(undefined));
    });
    this.#wake = null;
  }

  /** @param {string} why */
  #end(why) {
    this.#closed = true;
    this.#onState({ name: "ended", why });
  }
}

/** Thrown by a listener for an event that does not fit the answer, which is then requested again. */
export class Misfit extends Error {}

/** A lost connection; `seconds` is the wait that the server requests. */
class Lost extends Error {
  constructor(/** @type {string} */ why, seconds = 0) {
    super(why);
    this.seconds = seconds;
  }
}

/** A timer that can be restarted. */
class Timeout {
  #ms;
  #run;
  #timer = 0;

  /**
   * @param {number} ms
   * @param {() => void} run
   */
  constructor(ms, run) {
    this.#ms = ms;
    this.#run = run;
    this.restart();
  }

  restart() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#run, this.#ms);
  }

  stop() {
    clearTimeout(this.#timer);
  }
}
