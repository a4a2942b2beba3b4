// The editor of scenarios: CodeMirror with TOML, completion by the engine's schema, and errors in
// place. Tab is not bound: it leaves the editor.

import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  completionKeymap,
  startCompletion,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

import type { Refusal } from "../engine/messages";
import { findPlace } from "./editor_place";
import type { Choice, Schema } from "./schema";

/** The colours are the page's own, so that they follow light and dark. */
const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--key)" },
  { tag: tags.string, color: "var(--string)" },
  { tag: tags.atom, color: "var(--atom)", fontWeight: "600" },
  { tag: tags.number, color: "var(--atom)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
]);

const LOOK = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--page)", fontSize: "var(--code-size)" },
  "&.cm-focused": { outline: "3px solid var(--focus)", outlineOffset: "1px" },
  ".cm-content": { caretColor: "var(--text)", fontFamily: "var(--mono)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-scroller": { maxHeight: "max(14rem, 44vh)", minHeight: "14rem", fontFamily: "var(--mono)" },
  ".cm-gutters": { color: "var(--soft)", backgroundColor: "var(--page)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--shade)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, ::selection": {
    backgroundColor: "var(--selection)",
  },
  ".cm-tooltip": {
    color: "var(--text)",
    backgroundColor: "var(--page)",
    border: "1px solid var(--edge)",
  },
  ".cm-tooltip.cm-completionInfo": { maxWidth: "28rem", padding: "6px 8px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    color: "#ffffff",
    backgroundColor: "var(--focus)",
  },
});

/** Who wants nothing to move sees a cursor that does not blink. */
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

export interface EditorHandlers {
  onChange: (text: string) => void;
  onRun: () => void;
  findSchema: () => Schema | undefined;
}

/** Opens an editor in an element. */
export function openEditor(parent: HTMLElement, text: string, own: EditorHandlers): EditorView {
  const extensions: Extension = [
    lineNumbers(),
    lintGutter(),
    history(),
    drawSelection({ cursorBlinkRate: STILL.matches ? 0 : 1200 }),
    highlightActiveLine(),
    EditorView.lineWrapping,
    StreamLanguage.define(toml),
    syntaxHighlighting(COLOURS),
    autocompletion({
      icons: false,
      override: [(context) => complete(context, own.findSchema())],
    }),
    keymap.of([
      { key: "Mod-Enter", run: () => (own.onRun(), true) },
      { key: "Mod-i", run: startCompletion },
      ...completionKeymap,
      ...lintKeymap,
      ...historyKeymap,
      ...defaultKeymap,
    ]),
    EditorView.contentAttributes.of({
      "aria-label": "The scenario as TOML",
      "aria-describedby": "editor-keys",
      spellcheck: "false",
    }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) own.onChange(update.state.doc.toString());
    }),
    LOOK,
  ];
  return new EditorView({ parent, state: EditorState.create({ doc: text, extensions }) });
}

/** Puts another text in the place of the editor's. */
export function replaceText(view: EditorView, text: string): void {
  if (view.state.doc.toString() === text) return;
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}

/** Marks where a scenario is refused; null where it is not. */
export function markRefusal(view: EditorView, refusal: Refusal | null): void {
  view.dispatch(setDiagnostics(view.state, refusal ? locate(view, refusal) : []));
}

/** An error without a place has no mark: it is said below the editor. */
function locate(view: EditorView, refusal: Refusal): Diagnostic[] {
  const { doc } = view.state;
  if (refusal.line === null || refusal.line > doc.lines) return [];
  const line = doc.line(Math.max(refusal.line, 1));
  const from = Math.min(line.from + Math.max((refusal.column ?? 1) - 1, 0), line.to);
  const word = /^("[^"]*"|[\w.-]+)/.exec(doc.sliceString(from, line.to))?.[0] ?? "";
  const to = Math.min(from + Math.max(word.length, 1), line.to);
  return [{ from: Math.min(from, to), to, severity: "error", message: refusal.message }];
}

function complete(context: CompletionContext, schema?: Schema): CompletionResult | null {
  if (!schema) return null;
  const place = findPlace(context.state.doc.toString(), context.pos);
  if (!place) return null;
  const choices =
    place.kind === "value" ? schema.listValues(place.path) : schema.listKeys(place.path);
  if (!choices.length || (!context.explicit && !place.word && place.kind === "header")) return null;
  const isQuoted = context.state.sliceDoc(place.from - 1, place.from) === '"';
  if (!context.explicit && !place.word && place.kind === "key") return null;
  return {
    from: isQuoted ? place.from - 1 : place.from,
    options: choices.map((choice) => offer(choice, place.kind)),
    validFor: /^"?[\w.-]*$/,
  };
}

function offer(choice: Choice, kind: "header" | "key" | "value"): Completion {
  return {
    label: choice.text,
    detail: choice.detail,
    type: kind === "value" ? "constant" : "property",
    // A text, which CodeMirror shows as one.
    ...(choice.description ? { info: choice.description } : {}),
    ...(kind === "key" && choice.detail !== "table" ? { apply: `${choice.text} = ` } : {}),
  };
}
