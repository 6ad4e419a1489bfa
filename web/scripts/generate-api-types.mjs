// Types of the server's public API, from its own OpenAPI document. Run `npm run types` after a route has changed and commit the result.
//   npm run types                      asks the package in ../.venv for the document
//   npm run types -- path/or/address   reads it from a file or a running server
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const OUTPUT = fileURLToPath(new URL("../src/api/schema.ts", import.meta.url));
const PYTHON = fileURLToPath(new URL("../../.venv/bin/python", import.meta.url));
const PRINT_DOCUMENT = fileURLToPath(new URL("./print_openapi.py", import.meta.url));

async function readDocument(place) {
  if (!place) return JSON.parse(execFileSync(PYTHON, [PRINT_DOCUMENT], { encoding: "utf8", maxBuffer: 64 << 20 }));
  if (/^https?:/.test(place)) return (await fetch(place)).json();
  return JSON.parse(readFileSync(place, "utf8"));
}

const types = astToString(await openapiTS(await readDocument(process.argv[2])));
writeFileSync(
  OUTPUT,
  `// Made by scripts/generate-api-types.mjs from the server's OpenAPI document. Do not edit.\n${types}`,
);
