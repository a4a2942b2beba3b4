// What can be turned on a line.

import type { AnyControl, Settings, Slider } from "./scene";

interface Props {
  controls: readonly AnyControl[];
  settings: Settings;
  onChange: (part: Settings) => void;
}

export function Controls({ controls, settings, onChange }: Props) {
  return (
    <>
      {controls.map((control) => {
        const value = settings[control.key];
        const set = (next: Settings[string]): void => onChange({ [control.key]: next });
        if (control.kind === "slider") {
          return <SliderControl control={control} value={Number(value)} onChange={set} />;
        }
        if (control.kind === "switch") {
          return (
            <label class="check">
              <input
                type="checkbox"
                checked={value === true}
                onChange={(event) => set(event.currentTarget.checked)}
              />
              <span>{control.name}</span>
            </label>
          );
        }
        return (
          <label>
            <span>{control.name}</span>
            <select value={String(value)} onChange={(event) => set(event.currentTarget.value)}>
              {control.options.map((option) => (
                <option value={option.value}>{option.name}</option>
              ))}
            </select>
          </label>
        );
      })}
    </>
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
        onInput={(event) => onChange(values[Number(event.currentTarget.value)]!)}
      />
    </label>
  );
}
