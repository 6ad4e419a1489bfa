// What a first visit loads, gzipped: the entry script, its static imports and the style sheet. Fails above the limit.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const LIMIT_KB = 90;
const FOLDER = new URL("../../src/stepwell/server/page/static/", import.meta.url);

const html = readFileSync(new URL("index.html", FOLDER), "utf8");
const files = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map((match) => match[1]);
let total = 0;
for (const file of new Set(files)) {
  const bytes = gzipSync(readFileSync(fileURLToPath(new URL(file, FOLDER)))).length;
  total += bytes;
  console.log(`${(bytes / 1000).toFixed(1).padStart(7)} kB  ${file}`);
}
console.log(`${(total / 1000).toFixed(1).padStart(7)} kB  gzipped in all, limit ${LIMIT_KB}`);
if (total > LIMIT_KB * 1000) process.exit(1);
