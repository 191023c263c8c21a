// A view of the widget of a subscription: bars and a table of `shown`, which is replaced with each change.

const STYLE = `
.rdflive-bars { display: grid; grid-template-columns: max-content 1fr max-content; gap: 3px 8px; margin: 4px 0 10px }
.rdflive-bars > * { overflow: hidden; white-space: nowrap; text-overflow: ellipsis }
.rdflive-bars > .label { max-width: 16em }
.rdflive-bars > .number { text-align: right; font-variant-numeric: tabular-nums }
.rdflive-bars .bar { position: relative; height: 100%; min-width: 1px; background: rgb(66 120 200) }
.rdflive-table { border-collapse: collapse; color: inherit; white-space: nowrap }
.rdflive-table :is(caption, th, td) { text-align: left; padding: 2px 8px }
.rdflive-table .came { background: rgba(46, 160, 67, .25) }
.rdflive-table .gone { background: rgba(248, 81, 73, .25) }
.rdflive-table .gone td + td { text-decoration: line-through }
.rdflive-note { opacity: .7; font-size: 85% }`;

// texts only, so that no term becomes HTML
function make(tag, className, content = []) {
  const element = document.createElement(tag);
  element.className = className;
  element.append(...[content].flat());
  return element;
}

function bars({ rows, titles, chart }) {
  const drawn = rows.filter((row) => row.sign !== "−" && row.number !== null);
  const numbers = drawn.map((row) => row.number);
  const low = Math.min(0, ...numbers);
  const span = Math.max(0, ...numbers) - low || 1;
  const parts = drawn.flatMap(({ cells, label, number }) => {
    const bar = make("div", "bar");
    bar.style.left = `${(100 * (Math.min(0, number) - low)) / span}%`;
    bar.style.width = `${(100 * Math.abs(number)) / span}%`;
    return [make("div", "label", label), make("div", "track", bar), make("div", "number", cells[chart])];
  });
  const figure = make("div", "rdflive-bars", parts);
  figure.setAttribute("role", "img"); // the table says the same to those who do not see it
  figure.setAttribute("aria-label", `${titles[chart]} as bars`);
  return figure;
}

function table({ caption, titles, rows }) {
  const signed = rows.some((row) => row.sign);
  const head = (signed ? ["", ...titles] : titles).map((title) => make("th", "", title));
  const body = rows.map(({ sign, cells }) => {
    const texts = signed ? [sign, ...cells] : cells;
    return make("tr", { "+": "came", "−": "gone" }[sign] ?? "", texts.map((text) => make("td", "", text)));
  });
  return make("table", "rdflive-table", [
    make("caption", "", caption),
    make("thead", "", make("tr", "", head)),
    make("tbody", "", body),
  ]);
}

function render({ model, el }) {
  const view = el.appendChild(make("div", "rdflive"));
  const draw = () => {
    const shown = model.get("shown");
    const chart = shown.chart === null ? [] : [bars(shown)];
    const note = make("div", "rdflive-note", shown.prefixes);
    view.replaceChildren(make("style", "", STYLE), ...chart, table(shown), note);
  };
  model.on("change:shown", draw);
  draw();
  return () => model.off("change:shown", draw);
}

export default { render };
