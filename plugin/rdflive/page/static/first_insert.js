/** The offer to insert first triples into an empty graph. */

import { byId } from "./elements.js";
import { known } from "./vocabulary.js";

/** Milliseconds between two looks at the graph. */
const PAUSE = 5_000;

const FIRST = `PREFIX : <http://example.org/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
INSERT DATA {
  :alice a :Person ; rdfs:label "Alice" .
  :alice :knows :bob .
  :bob a :Person ; rdfs:label "Bob" .
}
`;

/**
 * Offers it until the graph has triples.
 * @param {((text: string) => void) | null} onInsert takes the update; null without the right
 */
export async function offerFirstInsert(onInsert) {
  byId("first-insert").hidden = !onInsert;
  byId("first-insert").addEventListener("click", () => onInsert?.(FIRST));
  for (;;) {
    const { complete, triples } = await known.refresh();
    byId("graph-empty").hidden = !complete || triples > 0;
    if (complete && triples > 0) return;
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}
