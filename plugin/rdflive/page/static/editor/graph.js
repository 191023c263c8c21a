/** Pictures of graphs by Cytoscape. A build bundles this file and its imports as `../graph.js`. */

import cytoscape from "cytoscape";
import fcose from "cytoscape-fcose";

cytoscape.use(fcose);

/**
 * @typedef {{id: string, label: string, title: string, kind: string, mark: string, isCentre: boolean}} PictureNode
 * @typedef {{id: string, source: string, target: string, label: string, mark: string}} PictureEdge
 * @typedef {Record<"text" | "quiet" | "card" | "edge" | "accent" | "on-accent" | "tint" | "code-iri" | "code-literal"
 *   | "came" | "came-text" | "went" | "went-text", string>} Look the colours of the page, by their names
 */

const FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif";
const SIZE = 14;
const EDGE_SIZE = 11;
const HEIGHT = 28;
/** The range of zoom in which labels are readable and not too large. */
const SMALLEST = 0.7;
const LARGEST = 1.1;
const MARGIN = 20;
/** The height of the buttons at the lower edge. */
const BUTTONS = 30;
const MOVE = 250;
/** Pixels that a finger may move in a tap. */
const SLOP = 10;
/** An element with this id stops Cytoscape from adding a style, which the policy of the page forbids. */
const STYLE = "__________cytoscape_stylesheet";

/**
 * Puts a picture into `parent`, which has a position and a size.
 *
 * @param {{parent: HTMLElement, look: Look, isStill: boolean, onChoose: (id: string) => void}} options
 *   `onChoose` is called with a clicked node
 */
export function makePicture({ parent, look, isStill, onChoose }) {
  if (!document.getElementById(STYLE)) document.head.append(Object.assign(document.createElement("meta"), { id: STYLE }));
  const cy = cytoscape({
    container: parent,
    style: styleOf(look),
    minZoom: 0.2,
    maxZoom: 3,
    boxSelectionEnabled: false,
    autounselectify: true,
    // a mouse wheel scrolls the page; two fingers on a touch screen zoom
    userZoomingEnabled: matchMedia("(pointer: coarse)").matches,
  });
  const widthOf = ruler();
  let isMoved = false;
  let isWhole = true;
  cy.on("dragpan pinchzoom", () => {
    isMoved = true;
    isWhole = false;
  });
  // after the event, as the listener may close the picture
  cy.on("tap", "node", ({ target }) => setTimeout(() => onChoose(target.id())));
  cy.on("mouseover", "node", ({ target }) => (parent.title = target.data("title")));
  cy.on("mouseout", "node", () => (parent.title = ""));
  cy.on("resize", () => isMoved || fit(false));
  letFingersPass(parent, () => isWhole);

  /** Shows all of the picture, or its middle if labels would be too small. */
  function fit(moves = !isStill) {
    isMoved = false;
    if (cy.elements().empty()) return;
    const box = cy.elements().boundingBox({});
    const room = Math.min((cy.width() - 2 * MARGIN) / box.w, (cy.height() - 2 * MARGIN - BUTTONS) / box.h);
    const zoom = Math.min(LARGEST, Math.max(SMALLEST, room));
    const centre = cy.nodes(".centre");
    isWhole = room >= SMALLEST;
    const middle = isWhole || centre.empty() ? { x: (box.x1 + box.x2) / 2, y: (box.y1 + box.y2) / 2 } : centre.position();
    goTo(zoom, { x: cy.width() / 2 - zoom * middle.x, y: (cy.height() - BUTTONS) / 2 - zoom * middle.y }, moves);
  }

  /**
   * @param {number} zoom
   * @param {{x: number, y: number}} pan
   */
  function goTo(zoom, pan, moves = !isStill) {
    cy.stop();
    if (moves) cy.animate({ zoom, pan }, { duration: MOVE });
    else cy.viewport({ zoom, pan });
  }

  /** Places all nodes, or only the new ones. @param {any} added */
  function arrange(added) {
    const old = cy.nodes().difference(added);
    const isNew = added.length > old.length;
    added.forEach((node, i) => {
      const near = node.neighborhood("node").intersection(old);
      const { x, y } = near.nonempty() ? near[0].position() : { x: 0, y: 0 };
      const angle = (2 * Math.PI * i) / added.length;
      node.position({ x: x + 120 * Math.cos(angle), y: y + 120 * Math.sin(angle) });
    });
    const length = Math.min(60, cy.width() / 12); // beside the label; shorter on a phone
    const fixedNodeConstraint = old.map((node) => ({ nodeId: node.id(), position: { ...node.position() } }));
    const options = { name: "fcose", animate: false, fit: false, idealEdgeLength: (edge) => length + edge.data("room") };
    const others = isNew ? { randomize: true } : { randomize: false, fixedNodeConstraint };
    cy.layout({ ...options, ...FORCES, ...others }).run();
    if (isNew) turn();
  }

  /** Turns the picture so that it is largest in its frame, preferably without overlapping nodes. */
  function turn() {
    const nodes = cy.nodes().map((node) => ({ node, ...node.position(), width: node.width() + 8 }));
    const angles = [...Array(12).keys()].map((step) => (step * Math.PI) / 12);
    const turned = angles.map((angle) => {
      const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
      return nodes.map(({ x, y, ...rest }) => ({ x: x * cos - y * sin, y: x * sin + y * cos, ...rest }));
    });
    const best = turned.reduce((a, b) => (cost(b, cy.width(), cy.height()) < cost(a, cy.width(), cy.height()) ? b : a));
    cy.batch(() => best.forEach(({ node, x, y }) => node.position({ x, y })));
  }

  return {
    /**
     * Shows these nodes and edges.
     * @param {PictureNode[]} nodes
     * @param {PictureEdge[]} edges
     */
    show(nodes, edges) {
      const wanted = new Set([...nodes, ...edges].map(({ id }) => id));
      const isFirst = cy.nodes().empty();
      const gone = cy.elements().filter((element) => !wanted.has(element.id()));
      const fresh = (all) => all.filter(({ id }) => cy.getElementById(id).empty());
      const madeNodes = fresh(nodes).map((node) => ({ group: "nodes", data: { ...node, width: widthOf(node.label) + 20 } }));
      const madeEdges = fresh(edges).map((edge) => ({ group: "edges", data: { ...edge, room: 0.8 * widthOf(edge.label) } }));
      let added;
      cy.batch(() => {
        gone.remove();
        added = cy.add([...madeNodes, ...madeEdges]).nodes();
        for (const { id, mark, kind, isCentre } of [...nodes, ...edges]) {
          cy.getElementById(id).classes([mark, kind, isCentre ? "centre" : ""].filter(Boolean));
        }
      });
      if (added.nonempty()) arrange(added);
      if ((added.nonempty() || gone.nonempty()) && !isMoved) fit(!isFirst && !isStill);
    },
    /** Makes the picture larger or smaller around its middle. */
    zoom(/** @type {number} */ factor) {
      isMoved = true;
      isWhole = false;
      const middle = { x: cy.width() / 2, y: cy.height() / 2 };
      const zoom = Math.min(cy.maxZoom(), Math.max(cy.minZoom(), cy.zoom() * factor));
      const pan = cy.pan();
      const ratio = zoom / cy.zoom();
      goTo(zoom, { x: middle.x - (middle.x - pan.x) * ratio, y: middle.y - (middle.y - pan.y) * ratio });
    },
    fit: () => fit(),
    /** Takes other colours. */
    dress(/** @type {Look} */ other) {
      cy.style(styleOf(other));
    },
    close() {
      cy.destroy();
    },
  };
}

/**
 * Returns the size of a picture relative to its frame, plus the number of overlapping nodes.
 * @param {{x: number, y: number, width: number}[]} nodes
 * @param {number} width
 * @param {number} height
 */
function cost(nodes, width, height) {
  const left = Math.min(...nodes.map((node) => node.x - node.width / 2));
  const right = Math.max(...nodes.map((node) => node.x + node.width / 2));
  const heights = nodes.map((node) => node.y);
  const high = Math.max(...heights) - Math.min(...heights) + HEIGHT;
  const touching = nodes.filter((a, i) => nodes.some((b, j) => i < j && isOn(a, b))).length;
  return Math.max((right - left) / width, high / height) + touching;
}

/**
 * @param {{x: number, y: number, width: number}} a
 * @param {{x: number, y: number, width: number}} b
 */
function isOn(a, b) {
  return Math.abs(a.x - b.x) < (a.width + b.width) / 2 && Math.abs(a.y - b.y) < HEIGHT + 4;
}

/**
 * Lets a finger scroll the page over the picture while all of it is visible and need not be moved. Cytoscape would
 * capture the touch, and treat its end as a tap.
 * @param {HTMLElement} parent
 * @param {() => boolean} isWhole
 */
function letFingersPass(parent, isWhole) {
  /** @type {Touch | null} */
  let start = null;
  parent.addEventListener("touchstart", ({ touches }) => (start = touches.length === 1 && isWhole() ? touches[0] : null));
  parent.addEventListener("touchmove", (event) => {
    if (!start) return;
    event.stopPropagation();
    const { clientX, clientY } = event.touches[0];
    if (Math.hypot(clientX - start.clientX, clientY - start.clientY) > SLOP) dispatchEvent(new Event("touchcancel"));
  });
}

const FORCES = { quality: "proof", nodeRepulsion: 12000, nodeSeparation: 110, gravity: 0.3, packComponents: false };

/** Measures the text of labels in pixels. */
function ruler() {
  const context = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  context.font = `600 ${SIZE}px ${FONT}`;
  return (/** @type {string} */ text) => context.measureText(text).width;
}

/** @param {Look} look */
function styleOf(look) {
  return /** @type {any} */ ([
    {
      selector: "node",
      style: {
        label: "data(label)",
        width: "data(width)",
        height: HEIGHT,
        shape: "round-rectangle",
        "background-color": look.tint,
        "border-width": 1.5,
        "border-color": look.accent,
        color: look.text,
        "font-family": FONT,
        "font-size": SIZE,
        "text-valign": "center",
        "text-halign": "center",
      },
    },
    { selector: ".literal, .triple", style: { shape: "rectangle", "background-color": look.card, "border-color": look.edge } },
    { selector: ".bnode", style: { "background-color": look.card, "border-style": "dashed" } },
    {
      selector: ".centre",
      style: { "background-color": look.accent, color: look["on-accent"], "font-weight": 600 },
    },
    {
      selector: "edge",
      style: {
        label: "data(label)",
        width: 1.5,
        "line-color": look.edge,
        "target-arrow-color": look.edge,
        "target-arrow-shape": "triangle",
        "arrow-scale": 0.9,
        "curve-style": "bezier",
        "control-point-step-size": 50,
        color: look.text,
        "font-family": FONT,
        "font-size": EDGE_SIZE,
        "text-rotation": "autorotate",
        "text-background-color": look.card,
        "text-background-opacity": 0.9,
        "text-background-padding": "2px",
      },
    },
    { selector: "node.came", style: { "background-color": look.came, "border-color": look["came-text"], "border-width": 3, color: look["came-text"] } },
    { selector: "node.went", style: { "background-color": look.went, "border-color": look["went-text"], "border-style": "dashed", color: look["went-text"] } },
    { selector: "edge.came", style: { "line-color": look["came-text"], "target-arrow-color": look["came-text"], width: 3, color: look["came-text"] } },
    { selector: "edge.went", style: { "line-color": look["went-text"], "target-arrow-color": look["went-text"], "line-style": "dashed", color: look["went-text"] } },
  ]);
}
