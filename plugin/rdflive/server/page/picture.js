/** How a query is kept up to date: the picture of its decomposition, and the same in words. */

import { make } from "./elements.js";
import { explain } from "./server.js";
import { prefixesOf, shortenAll } from "./terms.js";

/**
 * Fills `place` with the explanation of a query.
 * @param {HTMLElement} place
 * @param {{query: string, entailment: string}} asked
 */
export async function showPlan(place, asked) {
  place.replaceChildren(make("p", { className: "quiet" }, "loading …"));
  try {
    const { svg, text } = await explain(asked);
    const shortened = shortenAll(text, prefixesOf(asked.query));
    const words = make("pre", { tabIndex: 0, role: "region", "aria-label": "The plan in words" }, shortened);
    // as an image, nothing in the drawing can run or load anything
    const src = `data:image/svg+xml,${encodeURIComponent(svg.toWellFormed())}`;
    const image = make("img", { src, alt: "The plan as a picture; the words below say the same." });
    const frame = { className: "plan", tabIndex: 0, role: "region", "aria-label": "The plan as a picture" };
    place.replaceChildren(make("div", frame, image), make("details", {}, make("summary", {}, "In words"), words));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    place.replaceChildren(make("p", { className: "problem" }, `The plan could not be loaded: ${why}`));
  }
}
