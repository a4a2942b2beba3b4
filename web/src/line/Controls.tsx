// What can be turned on a line.

import { useRef } from "preact/hooks";

import type { AnyControl, Choice, Settings, Slider } from "./scene";

interface Props {
  controls: readonly AnyControl[];
  settings: Settings;
  onChange: (part: Settings) => void;
}

/** All controls; switches stand together behind the others. */
export function Controls({ controls, settings, onChange }: Props) {
  const set = (key: string, value: Settings[string]): void => onChange({ [key]: value });
  const switches = controls.filter((control) => control.kind === "switch");
  return (
    <>
      {controls.map((control) => {
        const value = settings[control.key];
        const take = (next: Settings[string]): void => set(control.key, next);
        if (control.kind === "slider") {
          return <SliderControl control={control} value={Number(value)} onChange={take} />;
        }
        if (control.kind === "switch") return null;
        return <ChoiceControl control={control} value={String(value)} onChange={take} />;
      })}
      {switches.length > 0 && (
        <div>
          {switches.map(({ key, name }) => (
            <label class="check">
              <input
                type="checkbox"
                checked={settings[key] === true}
                onChange={(event) => set(key, event.currentTarget.checked)}
              />
              <span>{name}</span>
            </label>
          ))}
        </div>
      )}
    </>
  );
}

interface ChoiceProps {
  control: Choice;
  value: string;
  onChange: (value: string) => void;
}

function ChoiceControl({ control, value, onChange }: ChoiceProps) {
  return (
    <label>
      <span>{control.name}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {control.options.map((option) => (
          <option value={option.value}>{option.name}</option>
        ))}
      </select>
    </label>
  );
}

interface SliderProps {
  control: Slider;
  value: number;
  onChange: (value: number) => void;
}

/** A slider that stops at given values. */
function SliderControl({ control, value, onChange }: SliderProps) {
  const { name, values, unit } = control;
  const before = useRef(value);
  const text = `${value} ${unit}`.trim();
  return (
    <label>
      <span>
        {name}: <b>{text}</b>
      </span>
      <input
        type="range"
        min={0}
        max={values.length - 1}
        step={1}
        value={values.indexOf(value)}
        aria-valuetext={text}
        // A finger that goes on to scroll the page has turned nothing.
        onPointerDown={() => (before.current = value)}
        onPointerCancel={() => onChange(before.current)}
        onInput={(event) => onChange(values[Number(event.currentTarget.value)]!)}
      />
    </label>
  );
}
