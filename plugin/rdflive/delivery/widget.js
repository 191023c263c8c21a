// A view of the widget of a subscription. Python writes the HTML, in which all terms are escaped.

const STYLE = `
.rdflive-view table { border-collapse: collapse; white-space: nowrap }
.rdflive-view :is(caption, th, td) { padding: 2px 8px }`;

function render({ model, el }) {
  const view = el.appendChild(document.createElement("div"));
  view.className = "rdflive-view";
  const draw = () => {
    // where there is no view, as in an export of the notebook, its readers see the copy
    const style = `${STYLE} #${model.get("copy")} { display: none }`;
    view.innerHTML = `<style>${style}</style>${model.get("html")}`;
  };
  model.on("change:html", draw);
  draw();
  return () => model.off("change:html", draw);
}

export default { render };
