/** The form for an update of the graph, for those who may update it. */

import { byId } from "./elements.js";
import { makeQueryBox } from "./query_box.js";
import { Problem, update } from "./server.js";
import { keep, kept } from "./storage.js";

const DRAFT = "rdflive.update";
const TEXT = "INSERT DATA {\n  \n}\n";

/** Shows the form, whose editor comes when it is opened. */
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
  }

  #change() {
    keep("sessionStorage", DRAFT, this.#box.text);
    this.#show(null);
  }

  async #send() {
    const text = this.#box.text;
    if (!text.trim()) return this.#say("There is no update yet.");
    if (this.#isSending) return; // an update that is sent twice may be done twice
    this.#isSending = true;
    this.#show(null, "updating …");
    try {
      const sequence = await update(text);
      this.#show(null, sequence ? `Done: the graph is at commit ${sequence}.` : "Done.");
    } catch (error) {
      // a proxy answers 502 or 504 when the server has not answered it
      const isKnown = error instanceof Problem && error.status !== 502 && error.status !== 504;
      if (isKnown) this.#refuse(error);
      else this.#say("The server was not reached: whether the update was done is not known.");
    } finally {
      this.#isSending = false;
    }
  }

  /** Shows why an update was refused, and leads to the place. @param {Problem} problem */
  #refuse(problem) {
    const place = this.#box.mark(problem);
    this.#say(problem.words);
    if (place !== null) this.#box.goTo(place);
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
  }
}
