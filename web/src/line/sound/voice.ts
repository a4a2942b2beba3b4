// A synthetic voice: syllables of vowels, some seconds of them, to be played in a loop.

/** Pairs of formants in Hz. */
const VOWELS = [
  [730, 1090],
  [270, 2290],
  [530, 1840],
  [300, 870],
  [570, 840],
] as const;

const SYLLABLE_S = 0.24;
const SYLLABLES = 25;

/** How much of a harmonic a vowel lets through. */
function resonance(hz: number, vowel: readonly [number, number]): number {
  const near = (formant: number, width: number): number =>
    1 / (1 + ((hz - formant) / width) ** 2);
  return near(vowel[0], 90) + 0.5 * near(vowel[1], 120);
}

/** The samples of the voice, at a rate in Hz. */
export function synthesise(rate: number): Float32Array<ArrayBuffer> {
  const long = Math.round(SYLLABLE_S * rate);
  const samples = new Float32Array(long * SYLLABLES);
  for (let syllable = 0; syllable < SYLLABLES; syllable += 1) {
    // Every sixth syllable is a pause, as at the end of a sentence.
    if (syllable % 6 === 5) continue;
    const vowel = VOWELS[(syllable * 3 + (syllable >> 2)) % VOWELS.length]!;
    const pitch = 118 + 14 * Math.sin(syllable * 1.7) - 3 * (syllable % 6);
    const harmonics = Array.from({ length: 20 }, (_, number) => pitch * (number + 1));
    const weights = harmonics.map((hz) => resonance(hz, vowel));
    for (let place = 0; place < long; place += 1) {
      const time = place / rate;
      const envelope = Math.sin((Math.PI * place) / long) ** 0.7;
      let value = 0;
      for (const [number, hz] of harmonics.entries()) {
        value += weights[number]! * Math.sin(2 * Math.PI * hz * time);
      }
      samples[syllable * long + place] = 0.12 * envelope * value;
    }
  }
  return samples;
}
