// A face for each word of a grade, drawn: not every machine has such letters.

/** How far the corners of the mouth are above its middle, by word. */
const SMILES: Readonly<Record<string, number>> = { good: 7, fair: 0, poor: -5, bad: -9 };

export function Face({ word }: { word: string }) {
  const smile = SMILES[word];
  const middle = smile === undefined ? 28 : 27 + smile / 2;
  const corner = middle - (smile ?? 0);
  return (
    <svg class="face" viewBox="0 0 40 40" aria-hidden="true">
      <circle cx="20" cy="20" r="17" />
      <circle class="eye" cx="14" cy="15" r="2.3" />
      <circle class="eye" cx="26" cy="15" r="2.3" />
      {smile !== undefined && (
        <path d={`M11 ${corner} Q20 ${middle + (smile ?? 0)} 29 ${corner}`} />
      )}
      {word === "bad" && <path d="M10 9 L16 12 M30 9 L24 12" />}
    </svg>
  );
}
