// The editor's place in the page: it may be filled by a list, a file, a link, or by hand.

import type { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";

import type { Refusal } from "../engine/messages";
import { markRefusal, openEditor, replaceText } from "./editor";
import type { Schema } from "./schema";

interface Props {
  text: string;
  /** Counts the texts that came from elsewhere: only those are put into the editor. */
  loads: number;
  refusal: Refusal | null;
  schema: Schema | undefined;
  onChange: (text: string) => void;
  onRun: () => void;
}

export function Editor(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  // The editor lives on while what it calls changes.
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    view.current = openEditor(place.current!, props.text, {
      onChange: (text) => latest.current.onChange(text),
      onRun: () => latest.current.onRun(),
      findSchema: () => latest.current.schema,
    });
    return () => view.current?.destroy();
  }, []);

  useEffect(() => {
    if (view.current) replaceText(view.current, props.text);
  }, [props.loads]);

  useEffect(() => {
    if (view.current) markRefusal(view.current, props.refusal);
  }, [props.refusal]);

  return (
    <>
      <div class="editor" ref={place} />
      <p class="soft" id="editor-keys">
        Tab leaves the editor. Ctrl+Space (or Ctrl+I) lists what may be written here, Ctrl+Enter
        runs.
      </p>
    </>
  );
}
