/** What the page asks the server for, and the problems it answers with. */

/** @typedef {{query: string, entailment: string, key?: string[], node?: string}} Question */
/** @typedef {{title?: string, status?: number, detail?: string, line?: number, column?: number, results?: any[]}} Members */

/**
 * An error of the server; `line` and `column` of the query count from 1, 0 where unknown. `results` are those for
 * which a guard refuses an update, and null where none does.
 */
export class Problem extends Error {
  /** @param {Members} members */
  constructor({ status = 0, detail = "", title = "", line = 0, column = 0, results }) {
    // the editor marks the place, which further lines of the detail draw
    super((detail || title || "the server said nothing more").split("\n", 1)[0]);
    this.status = status;
    this.detail = detail;
    this.results = results ?? null;
    this.line = line;
    this.column = column;
  }

  /** The message, and before it the place unless the message says it. */
  get words() {
    const { line, column, message } = this;
    return line && !message.includes(`line ${line}`) ? `Line ${line}, column ${column}: ${message}` : message;
  }
}

/**
 * Reads the problem of a response that is not ok.
 * @param {Response} response
 */
export async function problemOf(response) {
  const status = response.status;
  if (status === 401) return new Problem({ status, title: "you are no longer signed in: reload the page and sign in" });
  try {
    return new Problem({ ...(await response.json()), status });
  } catch {
    return new Problem({ status, title: `the server answered ${status} ${response.statusText}`.trim() });
  }
}

/**
 * Says how a query would be kept up to date; throws `Problem` for one that cannot be.
 * @param {Question} asked
 * @param {AbortSignal} [signal]
 */
export async function explain(asked, signal) {
  const response = await fetch("explain", { method: "POST", body: form(asked), signal });
  if (!response.ok) throw await problemOf(response);
  return response.json();
}

/** Gives the subscriptions that are open on the server. */
export async function subscriptions() {
  const response = await fetch("subscriptions", { signal: AbortSignal.timeout(10_000) });
  if (!response.ok) throw await problemOf(response);
  return response.json();
}

/** Gives the predicates and classes of the data, by use, and a first query of them. */
export async function vocabulary() {
  const response = await fetch("vocabulary", { signal: AbortSignal.timeout(10_000) });
  if (!response.ok) throw await problemOf(response);
  return response.json();
}

/**
 * Sends an update, and gives the number of the commit that has it; throws `Problem` for one that is refused.
 * @param {string} text
 */
export async function update(text) {
  const response = await send("update", text);
  return response.headers.get("Rdflive-Sequence") ?? "";
}

/**
 * Says what an update would change, without changing anything; throws `Problem` for one that cannot be run.
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
  const headers = { Accept: "application/json" }; // else a refusal is told in Turtle
  const response = await fetch(path, { method: "POST", body: new URLSearchParams({ update: text }), headers });
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** @param {Question} asked */
export function form({ query, entailment, key = [], node = "" }) {
  const given = Object.entries({ query, entailment, key: key.join(","), node });
  return new URLSearchParams(given.filter(([, value]) => value));
}
