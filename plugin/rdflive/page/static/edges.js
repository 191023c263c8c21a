/** Shadows at the sides of an element that scrolls sideways, where more is hidden. */

import { make } from "./elements.js";

/**
 * Puts a frame around a scrolling element.
 * @param {HTMLElement} scroller
 */
export function withEdges(scroller) {
  const frame = make("div", { className: "edges" }, scroller);
  const update = () => {
    const left = scroller.scrollLeft;
    frame.classList.toggle("more-left", left > 1);
    frame.classList.toggle("more-right", left + scroller.clientWidth < scroller.scrollWidth - 1);
  };
  scroller.addEventListener("scroll", update, { passive: true });
  const observer = new ResizeObserver(update);
  observer.observe(scroller);
  for (const part of scroller.children) observer.observe(part);
  return frame;
}
