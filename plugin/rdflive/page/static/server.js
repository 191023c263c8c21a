/** Requests of the page to the server, and the problems of its responses. */

/** @typedef {{query: string, entailment?: string, key?: string[], node?: string}} Question */
/** @typedef {{title?: string, status?: number, detail?: string, line?: number, column?: number, results?: any[]}} Members */

/**
 * An error of the server; `line` and `column` of the query count from 1, 0 if unknown. `results` are those of a guard
 * that refused an update, else null.
 */
export class Problem extends Error {
  /** @param {Members} members */
  constructor({ status = 0, detail = "", title = "", line = 0, column = 0, results }) {
    // without the further lines of the detail, which draw the place: the editor marks it
    super((detail || title || "the server gave no reason").split("\n", 1)[0]);
    this.status = status;
    this.detail = detail;
    this.results = results ?? null;
    this.line = line;
    this.column = column;
  }

  /** The message, after the place unless the message contains it. */
  get words() {
    const { line, column, message } = this;
    return line && !message.includes(`line ${line}`) ? `Line ${line}, column ${column}: ${message}` : message;
  }
}

/**
 * Returns the problem of an unsuccessful response.
 * @param {Response} response
 * @param {boolean} [isSignedIn] false for clients that send a token
 */
export async function problemOf(response, isSignedIn = true) {
  const status = response.status;
  if (status === 401 && isSignedIn) return new Problem({ status, title: "you are no longer signed in: reload the page and sign in" });
  try {
    return new Problem({ ...(await response.json()), status });
  } catch {
    return new Problem({ status, title: `the server responded ${status} ${response.statusText}`.trim() });
  }
}

/**
 * Returns the plan of a query; throws `Problem` for an unsupported one.
 * @param {Question} asked
 * @param {AbortSignal} [signal]
 */
export async function explain(asked, signal) {
  const response = await fetch("explain", { method: "POST", body: form(asked), signal });
  if (!response.ok) throw await problemOf(response);
  return response.json();
}

/** Returns the open subscriptions of the server. */
export async function subscriptions() {
  const response = await fetch("subscriptions", { signal: AbortSignal.timeout(10_000) });
  if (!response.ok) throw await problemOf(response);
  return response.json();
}

/** Returns the predicates and classes of the data, by use, and a first query. */
export async function vocabulary() {
  const response = await fetch("vocabulary", { signal: AbortSignal.timeout(10_000) });
  if (!response.ok) throw await problemOf(response);
  return response.json();
}

/**
 * Sends an update, and returns the number of a commit that includes it; throws `Problem` if it is refused.
 * @param {string} text
 */
export async function update(text) {
  const response = await send("update", text);
  return response.headers.get("Rdflive-Sequence") ?? "";
}

/**
 * Returns the changes of an update without making them; throws `Problem` if it cannot run.
 * @param {string} text
 */
export async function preview(text) {
  return (await send("update?preview", text)).json();
}

/**
 * @param {string} path
 * @param {string} text
 */
async function send(path, text) {
  const headers = { Accept: "application/json" }; // else a refusal comes in Turtle
  const response = await fetch(path, { method: "POST", body: new URLSearchParams({ update: text }), headers });
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** @param {Question} asked */
export function form({ query, entailment = "", key = [], node = "" }) {
  const given = Object.entries({ query, entailment, key: key.join(","), node });
  return new URLSearchParams(given.filter(([, value]) => value));
}
