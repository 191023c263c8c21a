/** Parsing of server-sent events from pieces of text. */

/** @typedef {{type: string, data: string, id: string | null}} ServerEvent `id` is null without one */

/** Takes pieces of an event stream and yields the completed events. */
export class EventParser {
  #line = "";
  #afterReturn = false;
  #type = "";
  /** @type {string[]} */ #data = [];
  /** @type {string | null} */ #id = null;

  /**
   * @param {string} piece
   * @returns {Generator<ServerEvent>}
   */
  *take(piece) {
    if (this.#afterReturn && piece.startsWith("\n")) piece = piece.slice(1);
    if (piece) this.#afterReturn = piece.endsWith("\r");
    const lines = piece.split(/\r\n|\n|\r/);
    const rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = this.#take(this.#line + line);
      this.#line = "";
      if (event) yield event;
    }
    this.#line += rest;
  }

  /** @param {string} line */
  #take(line) {
    if (line === "") return this.#complete();
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#type = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    return null;
  }

  #complete() {
    const event = { type: this.#type || "message", data: this.#data.join("\n"), id: this.#id };
    const isEvent = this.#data.length > 0;
    this.#type = "";
    this.#data = [];
    this.#id = null;
    return isEvent ? event : null;
  }
}
