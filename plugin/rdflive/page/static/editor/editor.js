/** The query editor: CodeMirror with SPARQL. A build bundles this file and its imports as `../editor.js`. */

import { autocompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { sparql } from "@codemirror/legacy-modes/mode/sparql";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** The colours of the page, which follow light and dark. */
const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)", fontWeight: "600" },
  { tag: [tags.variableName, tags.special(tags.variableName)], color: "var(--code-variable)" },
  { tag: [tags.string, tags.number, tags.bool], color: "var(--code-literal)" },
  { tag: tags.atom, color: "var(--code-iri)" },
  { tag: tags.standard(tags.variableName), color: "var(--code-function)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
]);

/**
 * Replaces a selection by typed text. Chromium itself would keep the colours of the selection in style attributes, which
 * the policy of the page forbids.
 */
const typingOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const isOver = event.inputType === "insertText" && !view.state.selection.main.empty && !view.composing;
    if (!isOver || event.data === null) return false;
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    event.preventDefault();
    return true;
  },
});

/** Completions shown at once; arrow keys reach further ones without scrolling. */
const SHOWN = 10;

/**
 * Offers the completions of `complete`, in its order.
 * @param {Complete} complete
 */
function completing(complete) {
  /** @param {import("@codemirror/autocomplete").CompletionContext} context */
  const source = async ({ state, pos, explicit }) => {
    const found = await complete(state.doc.toString(), pos, explicit);
    return found && { ...found, filter: false };
  };
  return autocompletion({ override: [source], icons: false, maxRenderedOptions: SHOWN });
}

/** @typedef {import("@codemirror/autocomplete").Completion} Completion */
/** @typedef {{from: number, options: Completion[]} | null} Completions */
/** @typedef {(text: string, position: number, isAsked: boolean) => Promise<Completions>} Complete */

/**
 * Puts an editor into `parent`. Tab is not one of its keys: it moves the focus.
 *
 * @param {{parent: HTMLElement, text: string, nonce: string, attributes: Record<string, string>,
 *   onChange: () => void, onSubmit: () => void, complete: Complete}} options
 */
export function makeEditor({ parent, text, nonce, attributes, onChange, onSubmit, complete }) {
  const submit = () => (onSubmit(), true);
  /** @param {string} doc */
  const begin = (doc) =>
    EditorState.create({
      doc,
      extensions: [
        EditorView.cspNonce.of(nonce),
        EditorView.contentAttributes.of(attributes),
        EditorView.updateListener.of((update) => update.docChanged && onChange()),
        EditorView.lineWrapping,
        typingOver,
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        bracketMatching(),
        highlightActiveLine(),
        StreamLanguage.define(sparql),
        syntaxHighlighting(colours),
        completing(complete),
        keymap.of([{ key: "Mod-Enter", run: submit }, ...defaultKeymap, ...historyKeymap]),
      ],
    });
  const view = new EditorView({ parent, state: begin(text) });
  return {
    get text() {
      return view.state.doc.toString();
    },
    set text(value) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
    },
    /** Shows another text, without undo to the last one. */
    open(/** @type {string} */ value) {
      view.setState(begin(value));
    },
    /** Marks an error in the text; `from` is null for no place. */
    mark(/** @type {number | null} */ from, /** @type {number} */ to, /** @type {string} */ message) {
      const marks = from === null ? [] : [{ from, to, message, severity: /** @type {const} */ ("error") }];
      view.dispatch(setDiagnostics(view.state, marks));
      view.contentDOM.setAttribute("aria-invalid", String(message !== ""));
    },
    /** Moves the cursor to a place, and the focus into the editor. */
    goTo(/** @type {number} */ place) {
      view.dispatch({ selection: { anchor: place }, scrollIntoView: true });
      view.focus();
    },
    focus() {
      view.focus();
    },
  };
}
