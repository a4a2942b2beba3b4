// One HTML file that holds everything: scripts, styles, the engine and its worker.

import preact from "@preact/preset-vite";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

const ENGINE = resolve(import.meta.dirname, "../target/wasm/web");

/** The engine, packed, as a text, and its loader without the place from which it would request it. */
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
      return code.replace("new URL('headend_wasm_bg.wasm', import.meta.url)", "undefined");
    },
  };
}

export default defineConfig({
  plugins: [engine(), preact(), viteSingleFile()],
  resolve: { alias: { "@engine": ENGINE } },
  worker: { format: "iife", plugins: () => [engine()] },
  build: {
    outDir: "../target/web",
    emptyOutDir: true,
    chunkSizeWarningLimit: 20_000,
    target: "es2022",
  },
});
