/** The form for updates, for readers with that right. */

import { byId } from "./elements.js";
import { makeQueryBox } from "./query_box.js";
import { elementsOf, refusal, summed } from "./preview.js";
import { Problem, preview, update } from "./server.js";
import { keep, kept } from "./storage.js";
import { prefixesOf } from "./terms.js";
import { known } from "./vocabulary.js";

const DRAFT = "rdflive.update";
const TEXT = "INSERT DATA {\n  \n}\n";

/**
 * Shows the form; its editor is loaded when the form is opened. Returns a function that opens the form with an update.
 * @param {(commit: number) => void} onDone called with a commit that includes an update
 */
export function setUpUpdates(onDone) {
  const card = /** @type {HTMLDetailsElement} */ (byId("update-card"));
  card.hidden = false;
  /** @type {Promise<UpdateForm> | null} */
  let made = null;
  const open = () => (made ??= UpdateForm.make(onDone));
  card.addEventListener("toggle", () => card.open && void open());
  return async (/** @type {string} */ text) => {
    card.open = true;
    (await open()).offer(text);
  };
}

class UpdateForm {
  #box;
  #onDone;
  #isSending = false;

  /**
   * @param {Awaited<ReturnType<typeof makeQueryBox>>} box
   * @param {(commit: number) => void} onDone
   */
  constructor(box, onDone) {
    this.#box = box;
    this.#onDone = onDone;
  }

  /** @param {(commit: number) => void} onDone */
  static async make(onDone) {
    const draft = kept("sessionStorage", DRAFT);
    const box = await makeQueryBox(byId("update"), {
      text: typeof draft === "string" ? draft : TEXT,
      label: "update-label",
      description: "update-problem update-keys",
      onChange: () => form.#change(),
      onSubmit: () => void form.#send(),
    });
    const form = new UpdateForm(box, onDone);
    byId("update-label").addEventListener("click", () => box.focus());
    byId("update-form").addEventListener("submit", (event) => {
      event.preventDefault();
      void form.#send();
    });
    byId("update-preview").addEventListener("click", () => void form.#preview());
    return form;
  }

  /** Writes an update, unless the user has written one, and moves the focus there. @param {string} text */
  offer(text) {
    if ([TEXT.trim(), ""].includes(this.#box.text.trim())) this.#box.text = text;
    this.#box.focus();
  }

  #change() {
    keep("sessionStorage", DRAFT, this.#box.text);
    this.#show(null);
  }

  async #send() {
    const text = this.#box.text;
    if (!text.trim()) return this.#say("Write an update first.");
    if (this.#isSending) return; // an update must not be sent twice
    await this.#ask("Updating …", "The server was not reached. The update may or may not have run.", async () => {
      const sequence = await update(text);
      this.#show(null, sequence ? `Done, commit ${sequence}.` : "Done.");
      known.forget();
      this.#onDone(Number(sequence));
    });
  }

  async #preview() {
    const text = this.#box.text;
    if (!text.trim()) return this.#say("Write an update first.");
    if (this.#isSending) return;
    await this.#ask("Loading the preview …", "The server was not reached.", async () => {
      const changes = await preview(text);
      if (this.#box.text !== text) return this.#show(null); // the text has changed meanwhile
      this.#show(null, summed(changes));
      this.#fill("update-previewed", elementsOf(changes, text));
    });
  }

  /**
   * Waits for the server, one request at a time.
   * @param {string} meanwhile
   * @param {string} lost the message if the server does not respond
   * @param {() => Promise<void>} send
   */
  async #ask(meanwhile, lost, send) {
    this.#isSending = true;
    this.#show(null, meanwhile);
    try {
      await send();
    } catch (error) {
      // a proxy responds 502 or 504 if the server has not responded
      const isKnown = error instanceof Problem && error.status !== 502 && error.status !== 504;
      if (isKnown) this.#refuse(error);
      else this.#say(lost);
    } finally {
      this.#isSending = false;
    }
  }

  /** Shows the reason of a refusal, and moves the focus to its place. @param {Problem} problem */
  #refuse(problem) {
    if (problem.results) return this.#guarded(problem.detail, problem.results);
    const place = this.#box.mark(problem);
    this.#say(problem.words);
    if (place !== null) this.#box.goTo(place);
  }

  /**
   * Shows the results of a guard that refused an update.
   * @param {string} detail
   * @param {any[]} results
   */
  #guarded(detail, results) {
    byId("update-done").textContent = "";
    this.#fill("update-problem", refusal(detail, results, prefixesOf(this.#box.text)));
  }

  /**
   * @param {string} id
   * @param {Node[]} parts
   */
  #fill(id, parts) {
    byId(id).replaceChildren(...parts);
  }

  /** @param {string} why */
  #say(why) {
    byId("update-done").textContent = "";
    byId("update-problem").textContent = why;
  }

  /** @param {null} problem @param {string} [done] */
  #show(problem, done = "") {
    this.#box.mark(problem);
    byId("update-problem").textContent = "";
    byId("update-done").textContent = done;
    this.#fill("update-previewed", []);
  }
}
