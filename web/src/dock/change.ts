/** What a tool call would do to a scratch file, where that can be known here: the text before and after, and what speaks against it. */

import { textOf, type JsonObject } from "../lib/json";

export interface FileChange {
  path: string;
  before: string;
  after: string;
  /** False where only a part of the file is shown, or the version before is not in this thread. */
  whole: boolean;
  isNew: boolean;
  warnings: string[];
}

/** `null` for a call that changes no file. `files` are the thread's, by path. */
export function fileChange(tool: string, args: JsonObject, files: Record<string, string>): FileChange | null {
  const path = textOf(args.file_path);
  if (!path) return null;
  if (tool === "delete" && files[path] !== undefined)
    return { path, before: files[path], after: "", whole: true, isNew: false, warnings: [] };
  if (tool === "write_file" && typeof args.content === "string") return written(path, args, files[path]);
  if (tool === "edit_file" && typeof args.old_string === "string" && typeof args.new_string === "string")
    return edited(path, args, files[path]);
  return null;
}

/** Marks a text well enough to see that it has changed; not a secret, not a proof. */
export function markOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return `${text.length}:${hash >>> 0}`;
}

function written(path: string, args: JsonObject, before: string | undefined): FileChange {
  const overwrite = args.overwrite === true;
  const warnings: string[] = [];
  if (before !== undefined && !overwrite)
    warnings.push("The file exists, and this call does not allow overwriting: it will fail.");
  if (before === undefined && overwrite)
    warnings.push("The version before is not in this thread, so all lines are shown as new.");
  return {
    path,
    before: before ?? "",
    after: textOf(args.content),
    whole: true,
    isNew: before === undefined && !overwrite,
    warnings,
  };
}

function edited(path: string, args: JsonObject, before: string | undefined): FileChange {
  const [old, fresh] = [textOf(args.old_string), textOf(args.new_string)];
  const part = { path, before: old, after: fresh, whole: false, isNew: false };
  if (before === undefined || !old) return { ...part, warnings: [] };
  const places = before.split(old).length - 1;
  if (!places)
    return { ...part, warnings: ["The text to be replaced is not in the file as it is now: the call will fail."] };
  if (places > 1 && args.replace_all !== true)
    return {
      ...part,
      warnings: [`The text to be replaced stands there ${places} times, and this call allows one: it will fail.`],
    };
  return { ...part, before, after: before.split(old).join(fresh), whole: true, warnings: [] };
}
