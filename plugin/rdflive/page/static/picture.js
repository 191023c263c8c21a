/** The plan of a query as a picture and as text. */

import { withEdges } from "./edges.js";
import { button, folded, make } from "./elements.js";
import { prefixesOf, shortenAll } from "./terms.js";

/**
 * Fills `place` with the explanation of a query.
 * @param {HTMLElement} place
 * @param {string} query
 * @param {Promise<{svg: string, text: string}>} explained
 */
export async function showPlan(place, query, explained) {
  place.replaceChildren(make("p", { className: "quiet" }, "Loading …"));
  try {
    const { svg, text } = await explained;
    const shortened = shortenAll(text, prefixesOf(query));
    const words = make("pre", { tabIndex: 0, role: "region", "aria-label": "The plan as text" }, shortened);
    // as an image, nothing in the drawing can run or load anything
    const src = `data:image/svg+xml,${encodeURIComponent(svg.toWellFormed())}`;
    const image = make("img", { src, alt: "The plan as a picture; the text below has the same content." });
    const resize = () => frame.classList.toggle("large");
    const frame = make(
      "div",
      { className: "plan", tabIndex: 0, role: "region", "aria-label": "The plan as a picture" },
      button(image, resize, { title: "Fit or full size" }),
    );
    place.replaceChildren(withEdges(frame), folded("As text", words));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    place.replaceChildren(make("p", { className: "problem" }, `Could not load the plan: ${why}`));
  }
}
