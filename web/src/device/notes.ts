/**
 * What an agent asks of this device, and whether it is about notes of its own: a request that says so (`notes`) and writes nothing but files
 * in one folder, below the root. Whoever lets an agent keep its notes allows nothing else.
 */

import { asObject, isObject, textOf, type Json } from "../lib/json";
import type { Call } from "./calls";
import { CHANGING } from "./operations";
import { resolvePath } from "./paths";

export interface Notes {
  readonly folder: string;
  /** What is in them, as sentences. */
  readonly text: string;
}

/** The folders that notes may be in. A request cannot call the person's own folder its notes. */
const FOLDERS: ReadonlySet<string> = new Set(["tutor"]);

export function callsIn(payload: Json): Call[] {
  const calls = asObject(payload).tool_calls;
  const listed = Array.isArray(calls) ? calls.filter(isObject) : [];
  return listed.map((call) => ({ id: String(call.id), name: String(call.name), args: asObject(call.args) }));
}

export function notesIn(payload: Json): Notes | null {
  const notes = asObject(asObject(payload).notes);
  const folder = textOf(notes.folder);
  const calls = callsIn(payload).filter((call) => CHANGING.has(call.name));
  if (!FOLDERS.has(folder) || !calls.length || !calls.every((call) => isIn(folder, call))) return null;
  return { folder, text: textOf(notes.text) };
}

/** Whether a call reads or writes a note. */
export function isNote(call: Call): boolean {
  const one = CHANGING.has(call.name) || call.name === "read_file";
  return one && [...FOLDERS].some((folder) => isIn(folder, call));
}

function isIn(folder: string, call: Call): boolean {
  if (call.name === "delete_file" || call.name === "move_file") return false; // keeping notes is neither
  // The same argument that the operation goes by.
  const path = call.name === "write_file" ? call.args["path"] : call.args["file_id"];
  try {
    return resolvePath(path).startsWith(`/${folder}/`);
  } catch {
    return false;
  }
}
