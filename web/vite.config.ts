// Builds into the Python package, so that the wheel has the page and needs no Node.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defaultClientConditions, type Plugin } from "vite";
import { defineConfig } from "vitest/config";

const SERVER = process.env.STEPWELL_URL ?? "http://127.0.0.1:8123";
const API = [
  "/api",
  "/assistants",
  "/threads",
  "/runs",
  "/store",
  "/interrupts",
  "/info",
  "/ok",
  "/metrics",
  "/openapi.json",
  "/docs",
  "/login",
  "/logout",
];
// The server's own policy, kept here too so that `vite preview` fails where the server would. A server that charges adds the mints it accepts
// to connect-src (server/page/serving.py).
const CSP =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";
const proxy = Object.fromEntries(API.map((path) => [path, { target: SERVER }]));

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const SHELL_FILES = ["/page/theme.js", "/page/icon.svg", "/page/icon-192.png", "/page/manifest.webmanifest"];
const LARGEST_IN_SHELL = 700_000;

/** Tells the service worker which files this build has. Large parts (models' code, the reader of PDF) are kept when they are first used. */
function offlineShell(): Plugin {
  return {
    name: "offline-shell",
    apply: "build",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        const worker = bundle["service-worker.js"];
        if (worker?.type !== "chunk") throw new Error("The service worker is not part of this build.");
        const size = (name: string) => {
          const file = bundle[name]!;
          return file.type === "chunk" ? file.code.length : file.source.length;
        };
        const parts = Object.keys(bundle).filter(
          (name) => name.startsWith("assets/") && !name.endsWith(".map") && size(name) <= LARGEST_IN_SHELL,
        );
        const files = [...SHELL_FILES, ...parts.sort().map((name) => `/${name}`)];
        const digest = createHash("sha256")
          .update(files.join("\n"))
          .update(readFileSync(source("index.html")));
        for (const file of SHELL_FILES) digest.update(readFileSync(source(`public${file}`)));
        const build = digest.digest("hex").slice(0, 12);
        worker.code = worker.code.replace("__SHELL__", JSON.stringify({ build, files }));
      },
    },
  };
}

export default defineConfig({
  plugins: [svelte(), offlineShell()],
  // Without this condition onnxruntime brings its WebAssembly loader in a form that starts threads from a blob: address.
  resolve: { conditions: ["onnxruntime-web-use-extern-wasm", ...defaultClientConditions] },
  build: {
    outDir: "../src/stepwell/server/page/static",
    emptyOutDir: true,
    target: "es2022",
    // A data: address for a small file would need a wider policy than 'self'.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // Browsers without modulepreload load the same parts a little later.
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: { index: source("index.html"), "service-worker": source("src/offline/service-worker.ts") },
      // At the root: a service worker is responsible for what lies below its own address.
      output: {
        entryFileNames: (chunk) => (chunk.name === "service-worker" ? "[name].js" : "assets/[name]-[hash].js"),
      },
    },
  },
  // Module workers: they share code with the page, and load what they need when they need it.
  worker: { format: "es" },
  // The figures of the levels of a report lie beside the Python that measures them.
  server: { proxy, fs: { allow: [".", "../src/stepwell/research/audit"] } },
  preview: { proxy, headers: { "Content-Security-Policy": CSP } },
  // The first test of a file may wait for components to be compiled.
  test: { include: ["src/**/*.test.ts"], environment: "node", testTimeout: 120_000 },
});
