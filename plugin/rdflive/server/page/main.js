/** Begins: the form, what is live on the server, and the panels that were open. */

import { setUpForm } from "./compose.js";
import { Desk } from "./desk.js";
import { Served } from "./served.js";

const desk = new Desk();
const served = new Served({
  onOpen: (asked) => desk.open(asked),
  onNews: (described) => desk.describe(described),
});

desk.restore();
void served.run();
await setUpForm((asked) => desk.open(asked));
