/** How a query is kept up to date: the picture of its decomposition, and the same in words. */

import { withEdges } from "./edges.js";
import { make } from "./elements.js";
import { prefixesOf, shortenAll } from "./terms.js";

/** How far the drawing shrinks to fit; what is wider then scrolls. */
const SMALLEST = 0.75;

/**
 * Fills `place` with the explanation of a query.
 * @param {HTMLElement} place
 * @param {string} query
 * @param {Promise<{svg: string, text: string}>} explained
 */
export async function showPlan(place, query, explained) {
  place.replaceChildren(make("p", { className: "quiet" }, "loading …"));
  try {
    const { svg, text } = await explained;
    const shortened = shortenAll(text, prefixesOf(query));
    const words = make("pre", { tabIndex: 0, role: "region", "aria-label": "The plan in words" }, shortened);
    // as an image, nothing in the drawing can run or load anything
    const src = `data:image/svg+xml,${encodeURIComponent(svg.toWellFormed())}`;
    const image = make("img", { src, alt: "The plan as a picture; the words below say the same." });
    const frame = { className: "plan", tabIndex: 0, role: "region", "aria-label": "The plan as a picture" };
    void image.decode().then(() => (image.style.minWidth = `${SMALLEST * image.naturalWidth}px`));
    const shown = withEdges(make("div", frame, image));
    place.replaceChildren(shown, make("details", {}, make("summary", {}, "In words"), words));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    place.replaceChildren(make("p", { className: "problem" }, `The plan could not be loaded: ${why}`));
  }
}
