/**
 * Deleting and moving files and folders, planned first and made in one transaction, as other changes are (`files`).
 *
 * What is deleted stays among the removed files, and a moved file takes its versions with it: both can be undone. The words are those of
 * the server (`backends/messages.py`).
 */

import { nameOf } from "../lib/paths";
import type { FileRow } from "./database";
import { FileError } from "./errors";
import type { By, FileStores, ProjectFiles } from "./files";
import { keyOf, parentsOf, resolveEntry, show, typeOf } from "./paths";

export interface Relocation {
  readonly path: string;
  /** Null: it is deleted. */
  readonly destination: string | null;
  /** Each file, and its new path. */
  readonly files: readonly { readonly row: FileRow; readonly to: string | null }[];
  /** The file that a moved one takes the place of. */
  readonly replaced: FileRow | null;
  readonly by: By;
  readonly reason: string;
}

interface Options {
  base_hash?: string | null;
  overwrite?: boolean;
  by?: By;
}

const NOTHING = "There is no such file or folder.";
const CHANGED = "it was changed meanwhile";
const MAX_PATH_BYTES = 1024;

export async function planRemoval(files: ProjectFiles, raw: unknown, options: Options = {}): Promise<Relocation> {
  const path = resolveEntry(raw);
  const rows = rowsAt(await files.list(), path);
  if (!rows.length) throw new FileError("not_found", NOTHING, path);
  requireBase(rows, path, options.base_hash);
  const { by = "agent" } = options;
  const reason = by === "agent" ? "Deleted by the agent" : "Removed";
  return {
    path,
    destination: null,
    files: rows.map((row) => ({ row, to: null })),
    replaced: null,
    by,
    reason,
  };
}

export async function planMove(
  files: ProjectFiles,
  raw: unknown,
  rawTo: unknown,
  options: Options = {},
): Promise<Relocation> {
  const [path, to] = [resolveEntry(raw), resolveEntry(rawTo)];
  if (path === to) throw refuse(`${show(path)} is both source and destination. Choose another destination.`, path);
  const [key, target] = [keyOf(path), keyOf(to)];
  if (target.startsWith(`${key}/`))
    throw refuse(
      `${show(path)} cannot be moved into itself, to ${show(to)}. Choose a destination outside of it.`,
      path,
    );
  const all = await files.list();
  const rows = rowsAt(all, path);
  if (!rows.length) throw new FileError("not_found", NOTHING, path);
  const replaced = target === key ? null : requireLanding(all, isFile(rows, path), to, options.overwrite === true);
  requireBase(rows, path, options.base_hash);
  const moved = rows.map((row) => ({ row, to: to + row.path.slice(path.length) }));
  if (moved.some((each) => new TextEncoder().encode(each.to).length > MAX_PATH_BYTES))
    throw refuse(`${show(to)} would be too long a path. Choose a shorter destination.`, to);
  const { by = "agent" } = options;
  const reason = `Moved from ${path}${by === "agent" ? " by the agent" : ""}`;
  return { path, destination: to, files: moved, replaced, by, reason };
}

/** A part of a larger transaction. Throws if a file is not what it was when this was planned. */
export async function relocateIn(files: ProjectFiles, stores: FileStores, plan: Relocation, at: string): Promise<void> {
  for (const { row } of [...plan.files, ...(plan.replaced ? [{ row: plan.replaced }] : [])]) {
    const present = await stores.files.get(row.id);
    if (present?.hash !== row.hash || present.path !== row.path) throw new FileError("conflict", CHANGED, row.path);
  }
  if (plan.replaced) await files.removeIn(stores, plan.replaced, plan.by, plan.reason);
  for (const { row, to } of plan.files) {
    if (to === null) await files.removeIn(stores, row, plan.by, plan.reason);
    else await moveIn(files, stores, row, to, plan, at);
  }
}

/** Its versions go with it; one more says where it was. */
async function moveIn(
  files: ProjectFiles,
  stores: FileStores,
  row: FileRow,
  to: string,
  { by, reason }: Pick<Relocation, "by" | "reason">,
  at: string,
): Promise<void> {
  const path = keyOf(to) === row.path_key ? to : await files.placeFor(stores, to);
  await files.keepVersion(stores, row, by, reason, at);
  await stores.files.put({
    ...row,
    path,
    path_key: keyOf(path),
    title: nameOf(path),
    type: typeOf(path),
    modified_at: at,
  });
}

/** The file at a path, or all files below the folder there. */
function rowsAt(rows: readonly FileRow[], path: string): FileRow[] {
  const key = keyOf(path);
  const itself = rows.filter((row) => row.path_key === key);
  return itself.length ? itself : rows.filter((row) => row.path_key.startsWith(`${key}/`));
}

function isFile(rows: readonly FileRow[], path: string): boolean {
  return rows.length === 1 && rows[0]!.path_key === keyOf(path);
}

/** What a move would replace. */
function requireLanding(rows: readonly FileRow[], movesFile: boolean, to: string, overwrite: boolean): FileRow | null {
  const above = parentsOf(to).find((folder) => rows.some((row) => row.path_key === keyOf(folder)));
  if (above)
    throw refuse(`${show(to)} cannot be created: ${show(above)} is a file, not a folder. Choose another folder.`, to);
  const there = rowsAt(rows, to);
  if (!there.length) return null;
  if (!isFile(there, to))
    throw refuse(
      `${show(to)} is a folder, which is never replaced. Give the whole new path, or delete that folder first.`,
      to,
    );
  if (!movesFile)
    throw refuse(`${show(to)} is a file, and a folder cannot take its place. Choose another destination.`, to);
  if (!overwrite) throw new FileError("conflict", "it exists already", to);
  return there[0]!;
}

function requireBase(rows: readonly FileRow[], path: string, base: string | null | undefined): void {
  if (base != null && !(isFile(rows, path) && rows[0]!.hash === base)) throw new FileError("conflict", CHANGED, path);
}

function refuse(words: string, path: string): FileError {
  return new FileError("failed", `Error: ${words}`, path);
}
