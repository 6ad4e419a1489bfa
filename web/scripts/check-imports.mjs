// Which folder of src/ may import which: only from groups below its own, and nothing of its own group but itself. No file imports itself by
// way of others. Parts that are loaded later (`import("...")`) count for the first rule only: they may know who loads them.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import ts from "typescript";

/** From the bottom to the top. What is new finds its group here. */
const LAYERS = [
  ["lib", "styles"], // words, dates, routes, Markdown as data: nothing of Stepwell
  ["api", "ui"], // the server's routes and types | buttons, dialogs, toasts
  ["text"], // Markdown and diffs as elements
  ["state", "offline"], // threads, sessions, questions, who is there | the service worker
  ["embedding"],
  ["device"], // the database on this device, and what agents ask of it
  ["knowledge", "wallet", "models", "operator", "threads", "workspace", "seminar"], // features; none knows another
  ["project", "report", "dock"], // features that use those
  ["storage", "panels"],
  ["settings"],
  ["chat"],
  ["shell"], // the frame: commands, dialogs, header, routes
  [""], // App.svelte, main.ts
];
const RANKS = new Map(LAYERS.flatMap((group, rank) => group.map((folder) => [folder, rank])));

const root = new URL("../src/", import.meta.url).pathname;
const files = readdirSync(root, { recursive: true }).map(String);
const known = new Set(files);
const modules = files.filter((file) => /\.(ts|svelte)$/.test(file));
const folderOf = (file) => (file.includes("/") ? file.slice(0, file.indexOf("/")) : "");

/** The modules that a file needs when it is loaded, and those it loads later. */
function importsOf(file) {
  const text = readFileSync(join(root, file), "utf8");
  const later = [...text.matchAll(/\bimport\(\s*"([^"]+)"\s*\)/g)].map((found) => found[1]); // also in markup
  const scripts = file.endsWith(".svelte")
    ? [...text.matchAll(/<script[^>]*>([^]*?)<\/script>/g)].map((found) => found[1])
    : [text];
  const all = scripts.flatMap((script) => ts.preProcessFile(script).importedFiles.map((found) => found.fileName));
  const atOnce = all.filter((name) => !later.includes(name));
  return { atOnce: resolve(file, atOnce), later: resolve(file, later) };
}

function resolve(file, names) {
  return names
    .filter((name) => name.startsWith("."))
    .map((name) => normalize(join(dirname(file), name)))
    .map((path) => [`${path}.ts`, `${path}/index.ts`, path].find((each) => known.has(each)))
    .filter((found) => found !== undefined && found !== file);
}

const graph = new Map(modules.map((file) => [file, importsOf(file)]));
const faults = [];
for (const [file, { atOnce, later }] of graph) {
  const from = folderOf(file);
  if (!RANKS.has(from))
    faults.push(`${file}: the folder "${from}" has no place in the layers of scripts/check-imports.mjs`);
  for (const target of file.endsWith(".test.ts") ? [] : [...atOnce, ...later]) {
    const to = folderOf(target);
    if (to !== from && !(RANKS.get(to) < RANKS.get(from)))
      faults.push(`${file} imports ${target}: ${to || "App"} is not below ${from || "App"}`);
  }
}

const done = new Set();
function findCycle(file, path) {
  if (path.includes(file)) return faults.push(`a cycle: ${[...path.slice(path.indexOf(file)), file].join(" -> ")}`);
  if (done.has(file)) return;
  for (const target of graph.get(file)?.atOnce ?? []) findCycle(target, [...path, file]);
  done.add(file);
}
for (const file of graph.keys()) findCycle(file, []);

if (faults.length) {
  console.error(faults.join("\n"));
  process.exit(1);
}
