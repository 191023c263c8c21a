/** The density of the page, comfortable or compact, which the browser remembers. */

import { byId } from "./elements.js";
import { keep, kept } from "./storage.js";

const KEPT = "rdflive.compact";

/** Sets the button up, and shows the density of the last visit. */
export function setUpDensity() {
  const button = byId("density");
  const show = (/** @type {boolean} */ isCompact) => {
    document.documentElement.dataset.density = isCompact ? "compact" : "comfortable";
    button.setAttribute("aria-pressed", String(isCompact));
  };
  show(kept("localStorage", KEPT) === true);
  button.addEventListener("click", () => {
    const isCompact = button.getAttribute("aria-pressed") !== "true";
    show(isCompact);
    keep("localStorage", KEPT, isCompact);
  });
}
