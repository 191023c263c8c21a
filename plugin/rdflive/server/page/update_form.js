/** The form for updates, for readers with that right. */

import { byId } from "./elements.js";
import { makeQueryBox } from "./query_box.js";
import { elementsOf, refusal, summed } from "./preview.js";
import { Problem, preview, update } from "./server.js";
import { keep, kept } from "./storage.js";
import { prefixesOf } from "./terms.js";

const DRAFT = "rdflive.update";
const TEXT = "INSERT DATA {\n  \n}\n";

/** Shows the form; its editor is loaded when the form is opened. */
export function setUpUpdates() {
  const card = /** @type {HTMLDetailsElement} */ (byId("update-card"));
  card.hidden = false;
  card.addEventListener("toggle", () => card.open && void UpdateForm.make(), { once: true });
}

class UpdateForm {
  #box;
  #isSending = false;

  /** @param {Awaited<ReturnType<typeof makeQueryBox>>} box */
  constructor(box) {
    this.#box = box;
  }

  static async make() {
    const draft = kept("sessionStorage", DRAFT);
    const box = await makeQueryBox(byId("update"), {
      text: typeof draft === "string" ? draft : TEXT,
      label: "update-label",
      description: "update-problem update-keys",
      onChange: () => form.#change(),
      onSubmit: () => void form.#send(),
    });
    const form = new UpdateForm(box);
    byId("update-label").addEventListener("click", () => box.focus());
    byId("update-form").addEventListener("submit", (event) => {
      event.preventDefault();
      void form.#send();
    });
    byId("update-preview").addEventListener("click", () => void form.#preview());
  }

  #change() {
    keep("sessionStorage", DRAFT, this.#box.text);
    this.#show(null);
  }

  async #send() {
    const text = this.#box.text;
    if (!text.trim()) return this.#say("There is no update yet.");
    if (this.#isSending) return; // an update must not be sent twice
    await this.#ask("updating …", "The server was not reached: it is not known if the update was done.", async () => {
      const sequence = await update(text);
      this.#show(null, sequence ? `Done: the graph is at commit ${sequence}.` : "Done.");
    });
  }

  async #preview() {
    const text = this.#box.text;
    if (!text.trim()) return this.#say("There is no update yet.");
    if (this.#isSending) return;
    await this.#ask("previewing …", "The server was not reached.", async () => {
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
