// What the engine's JSON Schema allows at a path of a scenario: keys with their descriptions, and
// values.

export interface Node {
  $ref?: string;
  anyOf?: Node[];
  oneOf?: Node[];
  properties?: Record<string, Node>;
  additionalProperties?: boolean | Node;
  items?: Node;
  enum?: unknown[];
  const?: unknown;
  type?: string | string[];
  default?: unknown;
  examples?: unknown[];
  description?: string;
  $defs?: Record<string, Node>;
}

export interface Choice {
  text: string;
  /** A short word beside it. */
  detail: string;
  description: string;
}

/** Deeper nesting of definitions is none of a scenario's. */
const DEEPEST = 12;

export class Schema {
  constructor(private readonly root: Node) {}

  /** The keys of the table at a path; names that are up to the writer are none of them. */
  listKeys(path: string[]): Choice[] {
    const found = new Map<string, Choice>();
    for (const node of this.find(path))
      for (const [text, own] of Object.entries(node.properties ?? {}))
        if (!found.has(text))
          found.set(text, { text, detail: this.describeType(own), description: this.explain(own) });
    return [...found.values()];
  }

  /** The values of the key at a path, written as TOML. */
  listValues(path: string[]): Choice[] {
    const found = new Map<string, Choice>();
    const add = (value: unknown, detail: string, description = "") => {
      const isPlain = ["string", "number", "boolean"].includes(typeof value);
      const text = JSON.stringify(value);
      if (isPlain && text && !found.has(text)) found.set(text, { text, detail, description });
    };
    const nodes = this.find(path);
    const tables = new Map(
      nodes.flatMap((node) => Object.keys(node.properties ?? {}).map((key) => [key, node])),
    );
    for (const node of nodes) {
      for (const value of node.enum ?? [])
        add(value, "", this.explain(tables.get(String(value)) ?? {}));
      if (node.const !== undefined) add(node.const, "", node.description);
      if (node.type === "boolean") [true, false].forEach((value) => add(value, ""));
      if (node.default !== undefined) add(node.default, "default", node.description);
      for (const value of node.examples ?? []) add(value, "for example");
    }
    return [...found.values()];
  }

  /** All that may stand at a path: alternatives are listed one by one. */
  private find(path: string[]): Node[] {
    let nodes = this.open(this.root);
    for (const name of path) {
      nodes = nodes.flatMap((node) => {
        const own = Object.hasOwn(node.properties ?? {}, name) ? node.properties![name] : undefined;
        const other = node.additionalProperties;
        const next = own ?? (typeof other === "object" ? other : undefined);
        return next ? this.open(next) : [];
      });
    }
    return nodes;
  }

  private open(node: Node, depth = 0): Node[] {
    if (depth > DEEPEST) return [];
    const parts = [...(node.anyOf ?? []), ...(node.oneOf ?? [])];
    const referred = node.$ref ? this.root.$defs?.[node.$ref.replace("#/$defs/", "")] : undefined;
    if (referred) parts.push(referred);
    return [node, ...parts.flatMap((part) => this.open(part, depth + 1))];
  }

  private describeType(node: Node): string {
    const isTable = this.open(node).some((own) => own.properties || own.additionalProperties);
    const isValue = this.open(node).some((own) => own.enum || own.type === "string");
    return isTable && !isValue ? "table" : "";
  }

  private explain(node: Node): string {
    const own = this.open(node).find((part) => part.description)?.description ?? "";
    const preset = node.default;
    const isPlain = preset !== undefined && preset !== "" && typeof preset !== "object";
    return `${own}${isPlain ? ` Default: ${String(preset)}.` : ""}`.replaceAll(/\s*\n/g, " ");
  }
}
