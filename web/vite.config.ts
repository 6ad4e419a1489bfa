// Builds into the Python package, so that the wheel has the page and needs no Node.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defaultClientConditions } from "vite";
import { defineConfig } from "vitest/config";

const SERVER = process.env.STEPWELL_URL ?? "http://127.0.0.1:8123";
const API = ["/api", "/assistants", "/threads", "/runs", "/store", "/interrupts", "/info", "/ok", "/metrics", "/openapi.json", "/docs", "/login", "/logout"];
// The server's own policy, kept here too so that `vite preview` fails where the server would.
const CSP =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";
const proxy = Object.fromEntries(API.map((path) => [path, { target: SERVER }]));

export default defineConfig({
  plugins: [svelte()],
  // Without this condition onnxruntime brings its WebAssembly loader in a form that starts threads from a blob: address.
  resolve: { conditions: ["onnxruntime-web-use-extern-wasm", ...defaultClientConditions] },
  build: {
    outDir: "../src/stepwell/server/page/static",
    emptyOutDir: true,
    target: "es2022",
    // A data: address for a small file would need a wider policy than 'self'.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  // Module workers: they share code with the page, and load what they need when they need it.
  worker: { format: "es" },
  server: { proxy },
  preview: { proxy, headers: { "Content-Security-Policy": CSP } },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
