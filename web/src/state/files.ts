// Scratch files: what the state holds, and the changes that events bring (the same forms as the server's `files` channel).

import { isObject } from "../lib/json";
import type { ScratchFile } from "./types";

type Files = Readonly<Record<string, ScratchFile>>;

/** The `files` field of a state. A file that differs from what was known keeps the known text as `before`. */
export function readFiles(value: unknown, known: Files): Files {
  if (!isObject(value)) return known;
  const files: Record<string, ScratchFile> = {};
  for (const [path, data] of Object.entries(value)) {
    const text = readText(data);
    if (text === null) continue;
    const old = known[path];
    const changed = old !== undefined && old.text !== text;
    files[path] = { path, text, before: changed ? old.text : (old?.before ?? null), modifiedAt: modifiedAt(data) };
  }
  return files;
}

/** What a step wrote to `files`. A change that was applied already changes nothing. */
export function changeFiles(files: Files, update: unknown): Files {
  if (!isObject(update)) return files;
  const changed: Record<string, ScratchFile> = { ...files };
  let isSame = true;
  for (const [path, change] of Object.entries(update)) {
    if (change === null) {
      isSame &&= !(path in changed);
      delete changed[path];
    } else {
      const old = changed[path];
      const text =
        isObject(change) && change["change"] === "edit" ? applyEdits(old?.text, change["edits"]) : readText(change);
      if (text === null || (old && old.text === text)) continue;
      changed[path] = { path, text, before: old?.text ?? null, modifiedAt: modifiedAt(change) };
      isSame = false;
    }
  }
  return isSame ? files : changed;
}

function readText(data: unknown): string | null {
  if (typeof data === "string") return data;
  if (!isObject(data)) return null;
  const content = data["content"];
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.join("\n") : null;
}

function modifiedAt(data: unknown): string | null {
  if (!isObject(data)) return null;
  const at = data["modified_at"] ?? data["at"];
  return typeof at === "string" ? at : null;
}

/** Null where an edit does not fit: the next snapshot has the truth. */
function applyEdits(text: string | undefined, edits: unknown): string | null {
  if (text === undefined || !Array.isArray(edits)) return null;
  let edited = text;
  for (const edit of edits as unknown[]) {
    if (
      !isObject(edit) ||
      typeof edit["old"] !== "string" ||
      typeof edit["new"] !== "string" ||
      !edited.includes(edit["old"])
    )
      return null;
    const replacement = edit["new"];
    edited = edit["all"]
      ? edited.replaceAll(edit["old"], () => replacement)
      : edited.replace(edit["old"], () => replacement);
  }
  return edited;
}
