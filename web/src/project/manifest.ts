// What an exported project says about itself, as the first entry of its zip: its name, and what a plain zip forgets of a file.
// Whether an agent may change files unasked is not in it: a zip can come from anybody, and a project that comes in asks.

import { asObject, isObject, type JsonObject } from "../lib/json";

export const MANIFEST = ".stepwell-project.json";
const FORMAT = "stepwell-project/1";

export interface Manifest {
  readonly name: string;
  /** Path -> what is told of it. */
  readonly files: Readonly<Record<string, { title?: string; type?: string; modified_at?: string }>>;
}

export function writeManifest(manifest: Manifest): string {
  return JSON.stringify({ format: FORMAT, ...manifest }, null, 1);
}

/** Null: a file that happens to have this name. A field that makes no sense is left out; a stranger may have written it. */
export function readManifest(text: string): Manifest | null {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(raw) || raw["format"] !== FORMAT || typeof raw["name"] !== "string") return null;
  const told = asObject(raw["files"]);
  return {
    name: raw["name"].trim().slice(0, 120) || "Project",
    files: Object.fromEntries(
      Object.entries(told).map(([path, each]) => [path, isObject(each) ? readFacts(each) : {}]),
    ),
  };
}

function readFacts(raw: JsonObject): Manifest["files"][string] {
  const { title, type, modified_at: modified } = raw;
  return {
    ...(typeof title === "string" ? { title: title.slice(0, 400) } : {}),
    ...(typeof type === "string" ? { type: type.slice(0, 40) } : {}),
    ...(typeof modified === "string" && !Number.isNaN(Date.parse(modified)) ? { modified_at: modified } : {}),
  };
}
