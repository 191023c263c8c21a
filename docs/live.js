/** The recorded run on the front page: one step after the other, by itself or by the buttons. */
const live = document.querySelector(".live");
const steps = JSON.parse(live.querySelector("script").textContent);
const [back, play, next] = ["back", "play", "next"].map((name) => live.querySelector(`[data-live=${name}]`));
const part = (selector) => live.querySelector(selector);
const SECONDS = 3.5;
let step = 0;
let timer = null;

/** Makes an element with a text or with other elements in it. */
function make(name, className, ...content) {
  const element = document.createElement(name);
  element.className = className;
  element.append(...content);
  return element;
}

const kindOf = (sign) => ({ "+": "came", "−": "went" })[sign] ?? "";

function show() {
  const { words, changes, touched, rows } = steps[step];
  const counted = (sign) => rows.filter((row) => row[0] === sign).length;
  part(".live-place").textContent = `${step} of the ${steps.length - 1} transactions of a recorded morning`;
  part(".live-words").textContent = words;
  part(".live-told").textContent =
    step === 0 ? "" : counted("+") + counted("−") === 0
      ? "The answer stays as it is."
      : `Rows that came: ${counted("+")}; that went: ${counted("−")}.`;
  part("ul").replaceChildren(
    ...changes.map(([sign, triple]) => make("li", kindOf(sign), make("b", "", sign), ` ${triple}`)));
  part("tbody").replaceChildren(
    ...rows.map((row) => make("tr", kindOf(row[0]), ...row.map((term) => make("td", "", term)))));
  for (const line of live.querySelectorAll("pre span")) {
    line.classList.toggle("hit", touched.some((name) => line.textContent.includes(` ${name} `)));
  }
  for (const label of live.querySelectorAll(".rdflive-plan .edge")) {
    const isHit = touched.some((name) => name.endsWith(`:${label.textContent}`));
    label.classList.toggle("hit", isHit);
    label.previousElementSibling.classList.toggle("hit", isHit);
  }
}

function move(by) {
  step = (step + by + steps.length) % steps.length;
  show();
}

/** Starts or stops; what moves by itself is not read out, what is stepped to is. */
function run(isRunning) {
  clearInterval(timer);
  timer = isRunning ? setInterval(move, SECONDS * 1000, 1) : null;
  play.textContent = isRunning ? "Pause" : "Play";
  part("[role=status]").setAttribute("aria-live", isRunning ? "off" : "polite");
}

for (const [button, by] of [[back, -1], [next, 1]]) {
  button.addEventListener("click", () => {
    run(false);
    move(by);
  });
}
play.addEventListener("click", () => {
  if (timer === null) move(1);
  run(timer === null);
});

show();
run(!matchMedia("(prefers-reduced-motion: reduce)").matches);
