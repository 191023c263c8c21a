/** Elements of the page. All text goes through `append`, so it is never markup. */

/**
 * Makes an element with properties and children.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [properties] names with a hyphen, and `role`, become attributes
 * @param {...(Node | string)} children
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else Object.assign(element, { [name]: value });
  }
  element.append(...children);
  return element;
}

/**
 * Makes a button.
 * @param {string | Node | (Node | string)[]} content
 * @param {() => void} onClick
 * @param {Record<string, any>} [properties]
 */
export function button(content, onClick, properties = {}) {
  const made = make("button", { type: "button", ...properties }, ...[content].flat());
  made.addEventListener("click", () => onClick());
  return made;
}

/**
 * Makes a part that is folded at first.
 * @param {string} title
 * @param {HTMLElement} content
 */
export function folded(title, content) {
  return make("details", {}, make("summary", {}, title), content);
}

/**
 * Returns the element with an id.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found;
}

/**
 * Shortens a text to `longest` characters, without half a surrogate pair at the end.
 * @param {string} text
 * @param {number} longest
 */
export function cut(text, longest) {
  return text.length > longest ? `${text.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, "")}…` : text;
}

/**
 * Writes a count with its noun.
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
