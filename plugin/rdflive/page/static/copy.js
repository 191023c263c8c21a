/** A query as a command, a program or a link. A token is never in it: the page's own is in a cookie that scripts cannot read. */

import { NEEDS_TOKEN } from "./about.js";
import { announce } from "./announce.js";
import { button, byId, make } from "./elements.js";
import { linkTo } from "./link.js";

/** @typedef {import("./panel.js").Asked} Asked */

/** The text of a query for each name. @type {Record<string, (asked: Asked) => string>} */
export const KINDS = { curl, Python: python, JavaScript: javascript, Link: linkTo };

/** Offers the kinds; the copied text is shown too, as a browser may forbid copying. */
export class CopyAs {
  #field = /** @type {HTMLTextAreaElement} */ (byId("copy-text"));

  /** @param {() => Asked} asked returns the query */
  constructor(asked) {
    const buttons = Object.entries(KINDS).map(([name, write]) => button(name, () => void this.#copy(name, write(asked()))));
    byId("copy-kinds").append(...buttons.map((one) => make("li", {}, one)));
  }

  /** Hides the text of the last query. */
  forget() {
    this.#field.hidden = true;
    byId("copy-done").textContent = "";
  }

  /**
   * @param {string} name
   * @param {string} text
   */
  async #copy(name, text) {
    if (!text) return void (byId("copy-done").textContent = "The query is too long for a link.");
    this.#field.value = text;
    this.#field.hidden = false;
    this.#field.select();
    const token = NEEDS_TOKEN && name !== "Link" ? " Replace TOKEN by your token." : "";
    try {
      await navigator.clipboard.writeText(text);
      byId("copy-done").textContent = `${name} copied.${token}`;
    } catch {
      byId("copy-done").textContent = `Copy the selected text.${token}`;
    }
    announce(byId("copy-done").textContent ?? "");
  }
}

/** The URL of the server, where the page is. */
function home() {
  return location.origin + location.pathname;
}

/** @param {Asked} asked */
function curl({ query, entailment }) {
  const fields = [`query=${query}`, ...(entailment ? [`entailment=${entailment}`] : [])];
  return [
    `curl -N ${quoted(`${home()}subscribe`)}`,
    ...(NEEDS_TOKEN ? ["-H 'Authorization: Bearer TOKEN'"] : []),
    ...fields.map((field) => `--data-urlencode ${quoted(field)}`),
  ].join(" \\\n  ");
}

/** Quotes a text for a shell. @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** @param {Asked} asked */
function python({ query, entailment }) {
  const text = query.replaceAll("\\", "\\\\").replaceAll('"""', '""\\"');
  return `import rdflive

server = rdflive.connect("${home()}"${NEEDS_TOKEN ? ', token="TOKEN"' : ""})
query = """
${text}
"""
for delta in server.subscribe(query${entailment ? `, entailment="${entailment}"` : ""}).deltas():
    print(delta)
`;
}

/** @param {Asked} asked */
function javascript({ query, entailment }) {
  const text = query.replaceAll("\\", "\\\\").replaceAll("`", "\\`").replaceAll("${", "\\${");
  const options = [...(entailment ? [`entailment: "${entailment}"`] : []), ...(NEEDS_TOKEN ? ['token: "TOKEN"'] : [])];
  return `import { subscribe } from "${home()}static/client.js";

const query = \`
${text}
\`;
subscribe(query, ({ added, removed }) => console.log(added, removed)${options.length ? `, { ${options.join(", ")} }` : ""});
`;
}
