// The scenarios that headend ships and a browser can run, by name.

const TEXTS = import.meta.glob<string>("../../../scenarios/*.toml", {
  query: "?raw",
  import: "default",
  eager: true,
});

/** A browser has no real programs. */
const REAL = /^real\s*=\s*true/m;

export const SHIPPED: ReadonlyMap<string, string> = new Map(
  Object.entries(TEXTS)
    .filter(([, text]) => !REAL.test(text))
    .map(([path, text]) => [path.replace(/^.*\/|\.toml$/g, ""), text] as const)
    .sort(([one], [other]) => one.localeCompare(other)),
);

/** The scenario that the workbench begins with. */
export const FIRST = "upload-and-call";

/** Reads the title of a scenario without the engine: for a list. */
export function readTitle(text: string): string {
  return /^title = "(.*)"$/m.exec(text)?.[1] ?? "";
}

/** The name of the shipped scenario that a text is, unchanged. */
export function findShipped(text: string): string | undefined {
  for (const [name, own] of SHIPPED) if (own === text) return name;
  return undefined;
}
