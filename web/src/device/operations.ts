/**
 * The nine operations that an agent may ask this device for, on the files of one project.
 *
 *   read(means, call)    list_files, glob_files, read_file, grep_files, search_files: what the answer holds
 *   plan(files, call)    write_file, patch_file: the change, if it fits; nothing happens yet
 *                        delete_file, move_file: the same, of a file or a folder
 *
 * Both throw a `FileError`, whose code and message the agent is told. The words and forms are those of the server's own device
 * (`backends/folder_device.py`); one file of cases holds both to them. Runs in a worker: see `worker.ts`.
 */

import { textOf } from "../lib/json";
import { nameOf } from "../lib/paths";
import type { Call, Content, Result } from "./calls";
import type { FileRow } from "./database";
import { FileError } from "./errors";
import type { Change, ProjectFiles } from "./files";
import { grep } from "./grep";
import { compileGlob, keyOf, resolveFile, resolvePath } from "./paths";
import { planMove, planRemoval, type Relocation } from "./relocations";
import { search, type Embedder } from "./search";

export interface Means {
  readonly files: ProjectFiles;
  /** Null: search goes by words. */
  readonly embedder: Embedder | null;
}

export const CHANGING: ReadonlySet<string> = new Set(["write_file", "patch_file", "delete_file", "move_file"]);
export const MAX_READ_CHARS = 262_144;
/** Of a whole answer; the server takes a million. */
export const MAX_ANSWER_CHARS = 900_000;
const MAX_GLOB = 1_000;
const MAX_LISTED = 5_000;

export async function read(means: Means, call: Call): Promise<Content> {
  const { files } = means;
  switch (call.name) {
    case "list_files":
      return list(files, call.args);
    case "glob_files":
      return glob(files, call.args["pattern"]);
    case "read_file":
      return readLines(files, call.args);
    case "grep_files":
      return grep(files, call.args);
    case "search_files":
      return search(files, call.args, means.embedder);
    default:
      throw new FileError("failed", `This device does not know the operation '${call.name}'.`);
  }
}

export async function plan(files: ProjectFiles, call: Call): Promise<Change | Relocation> {
  const { args } = call;
  const base_hash = textOf(args["base_hash"]) || null;
  if (call.name === "delete_file") return planRemoval(files, args["file_id"], { base_hash });
  if (call.name === "move_file")
    return planMove(files, args["file_id"], args["path"], { base_hash, overwrite: args["overwrite"] === true });
  if (call.name === "patch_file") {
    const { search: wanted, replace } = args;
    if (typeof wanted !== "string" || typeof replace !== "string")
      throw new FileError("failed", "'search' and 'replace' must be text.");
    const patch = {
      search: wanted,
      replace,
      replace_all: args["replace_all"] === true,
      base_hash,
      by: "agent" as const,
    };
    return files.planPatch(resolveFile(args["file_id"]), {
      ...patch,
      reason: textOf(args["description"]) || "Changed by the agent",
    });
  }
  const { content } = args;
  if (typeof content !== "string") throw new FileError("failed", "'content' must be text.");
  const written = {
    overwrite: args["overwrite"] === true,
    base_hash,
    by: "agent" as const,
    reason: "Written by the agent",
  };
  const type = textOf(args["file_type"]);
  return files.planWrite(resolveFile(textOf(args["path"]) || args["title"]), content, {
    ...written,
    ...(type ? { type } : {}),
  });
}

/** What a change leaves in the answer. */
export function contentOf(change: Change | Relocation): Content {
  if ("files" in change)
    return { file_id: change.path, path: change.destination ?? change.path, count: change.files.length };
  return { file_id: change.path, path: change.path, hash: change.hash, occurrences: change.occurrences };
}

export function failure(call: Call, error: unknown): Result {
  const known = error instanceof FileError ? error : null;
  const code = known?.code ?? "failed";
  const message = known?.message ?? (error instanceof Error ? error.message : String(error));
  return { tool_call_id: call.id, error: { code, message: message.slice(0, 4_000) } };
}

/** Replaces what is too long with an error, the longest first, until an answer can be sent. */
export function fitted(results: readonly Result[], calls: readonly Call[]): Result[] {
  const sizes = results.map((result) => JSON.stringify(result).length);
  const fitting = [...results];
  while (sizes.reduce((sum, size) => sum + size, 0) > MAX_ANSWER_CHARS) {
    const longest = sizes.indexOf(Math.max(...sizes));
    const words = `${sizes[longest]!.toLocaleString("en")} characters; at most ${MAX_ANSWER_CHARS.toLocaleString("en")} are sent in one answer.`;
    fitting[longest] = failure(calls[longest]!, new FileError("too_large", words));
    sizes[longest] = 200;
  }
  return fitting;
}

async function list(files: ProjectFiles, args: Call["args"]): Promise<Content> {
  const rows = await files.list();
  if (args["path"] != null) return children(rows, resolvePath(args["path"]));
  const wanted = args["file_type"];
  const fitting = rows.filter((row) => wanted == null || row.type === wanted);
  return listing(fitting.map(lineOf), MAX_LISTED);
}

async function glob(files: ProjectFiles, pattern: unknown): Promise<Content> {
  const passes = compileGlob(pattern);
  return listing((await files.list()).filter((row) => passes(row.path)).map(lineOf), MAX_GLOB);
}

/** The direct children of a folder; a file lists as itself. */
function children(rows: readonly FileRow[], folder: string): Content {
  const prefix = folder === "/" ? "/" : `${keyOf(folder)}/`;
  const lines = new Map<string, Content>();
  for (const row of rows.filter((each) => each.path_key.startsWith(prefix))) {
    const cut = row.path_key.indexOf("/", prefix.length);
    const depth = prefix.split("/").length;
    const path = cut < 0 ? row.path : `${row.path.split("/").slice(0, depth).join("/")}/`;
    if (!lines.has(keyOf(path))) lines.set(keyOf(path), cut < 0 ? lineOf(row) : folderLine(path));
  }
  const itself = rows.find((row) => row.path_key === keyOf(folder));
  if (itself) return listing([lineOf(itself)], 1);
  if (!lines.size && folder !== "/")
    throw new FileError("not_found", `Error: no folder '${folder}'. List the root with ls('/').`);
  const sorted = [...lines.values()].sort((one, other) => (String(one["path"]) < String(other["path"]) ? -1 : 1));
  return listing(sorted, MAX_LISTED);
}

function listing(lines: readonly Content[], most: number): Content {
  return { files: lines.slice(0, most), truncated: lines.length > most };
}

function lineOf(row: FileRow): Content {
  const { path, title, type, size, modified_at, hash } = row;
  return { file_id: path, path, is_dir: false, title, file_type: type, size, modified_at, hash };
}

function folderLine(path: string): Content {
  return {
    file_id: path,
    path,
    is_dir: true,
    title: nameOf(path.slice(0, -1)),
    file_type: null,
    size: 0,
    modified_at: "",
  };
}

async function readLines(files: ProjectFiles, args: Call["args"]): Promise<Content> {
  const { row, text: whole } = await files.readText(resolveFile(args["file_id"]));
  const offset = typeof args["offset"] === "number" ? Math.max(0, Math.trunc(args["offset"])) : 0;
  const limit = typeof args["limit"] === "number" ? Math.max(0, Math.trunc(args["limit"])) : null;
  const lines = whole.split("\n");
  const total = lines.at(-1) === "" ? lines.length - 1 : lines.length;
  const part =
    limit === null && !offset ? whole : lines.slice(offset, limit === null ? undefined : offset + limit).join("\n");
  if (part.length > MAX_READ_CHARS) {
    const words = `${part.length.toLocaleString("en")} characters; at most ${MAX_READ_CHARS.toLocaleString("en")} are sent at once.`;
    throw new FileError("too_large", words);
  }
  return { text: part, total_lines: total, hash: row.hash, file_id: row.path };
}
