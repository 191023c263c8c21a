/** Sets up the page: the forms, the list of live subscriptions, and the restored panels. */

import { HAS_SHAPES, may } from "./about.js";
import { setUpForm } from "./compose.js";
import { setUpDensity } from "./density.js";
import { Desk } from "./desk.js";
import { offerFirstInsert } from "./first_insert.js";
import { Served } from "./served.js";
import { setUpUpdates } from "./update_form.js";
import { Validation } from "./validation.js";

setUpDensity();
const desk = new Desk();
const served = new Served({
  onOpen: (asked) => desk.open(asked),
  onNews: (described) => desk.describe(described),
  mine: () => desk.ids,
});

desk.restore();
void served.run();
const insert = may("update") ? setUpUpdates((commit) => desk.seek(commit)) : null;
if (may("subscribe")) void offerFirstInsert(insert);
if (HAS_SHAPES && may("subscribe")) new Validation((term) => desk.explore(term)).run();
await setUpForm(desk);
