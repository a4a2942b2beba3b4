// One HTML file that holds everything: scripts, styles, the engine and its worker.

import preact from "@preact/preset-vite";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

const ENGINE = resolve(import.meta.dirname, "../target/wasm/web");

/** Replaces what a text has to hold. */
function replace(text: string, old: string, by: string): string {
  if (!text.includes(old)) throw new Error(`the engine's loader has changed: no ${old}`);
  return text.replace(old, by);
}

/** The packed engine as a text, and its loader without the place from which it would request it. */
function engine(): Plugin {
  return {
    name: "engine",
    enforce: "pre",
    resolveId: (id) => (id === "virtual:engine" ? "\0engine" : undefined),
    load(id) {
      if (id !== "\0engine") return undefined;
      const bytes = readFileSync(resolve(ENGINE, "headend_wasm_bg.wasm"));
      return `export default "${gzipSync(bytes, { level: 9 }).toString("base64")}"`;
    },
    transform(code, id) {
      if (!id.endsWith("headend_wasm.js")) return undefined;
      return replace(code, "new URL('headend_wasm_bg.wasm', import.meta.url)", "undefined");
    },
  };
}

/** The page names the SHA-256 of its sources, which web/export.py has noted. */
function sources(): Plugin {
  const noted = resolve(import.meta.dirname, "src/generated.json");
  return {
    name: "sources",
    transformIndexHtml() {
      const content: string = JSON.parse(readFileSync(noted, "utf-8")).sources;
      const attrs = { name: "headend-sources", content };
      return [{ tag: "meta", attrs, injectTo: "head-prepend" }];
    },
  };
}

export default defineConfig({
  plugins: [engine(), sources(), preact(), viteSingleFile()],
  resolve: { alias: { "@engine": ENGINE } },
  worker: { format: "iife", plugins: () => [engine()] },
  build: {
    outDir: "../target/web",
    emptyOutDir: true,
    chunkSizeWarningLimit: 20_000,
    target: "es2022",
  },
});
