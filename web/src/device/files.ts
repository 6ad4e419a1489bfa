/**
 * The files of a project on this device. Everything that reads or changes them goes through here: dialog, editor, importer, agent.
 *
 *   const files = await openFiles(projectId);
 *   files.list()                              every file, without its content, by path
 *   files.find(path)                          one line of that listing
 *   files.read(path), files.readText(path)    with its content
 *   files.texts(rows)                         the texts of many, one after the other
 *   files.write(path, content, {overwrite, base_hash, by, reason})
 *   files.writeAll([{path, content}], {...})  all of them or none: an import
 *   files.patch(path, {search, replace, replace_all, base_hash})
 *   files.remove(path), files.removeAll(paths), files.rename(path, newPath)
 *   files.versions(path), files.removed()     what was there before each change; what is no longer there
 *   files.restore(version), files.undo(path)
 * An agent deletes and moves through `relocations`.
 *
 * Names that differ only in case or normal form are one file, under the spelling it was first given. Each change is one transaction, and
 * leaves one row in `versions`: what was there before (`hash` is "" where nothing was). A change is planned first, because hashing
 * would end a transaction, and made only if the file is still the one it was planned for. Everything that fails is a `FileError`.
 * Tabs hear `onChange("files", ...)`.
 */

import { nameOf } from "../lib/paths";
import { isBinary, pack, unpack, type Content, type Packed } from "./content";
import { announceChange, openDevice, type Device, type FileRow, type FileVersion, type Stores } from "./database";
import { FileError } from "./errors";
import { keyOf, parentsOf, resolveFile, typeOf } from "./paths";

export type { FileRow, FileVersion } from "./database";
export { hashOf, MAX_FILE_BYTES, type Content } from "./content";
export { FileError } from "./errors";

export type By = FileVersion["by"];

export interface FileWithContent {
  readonly row: FileRow;
  /** Null for bytes that are no text. */
  readonly text: string | null;
  readonly blob: Blob | null;
}

export interface WriteOptions {
  overwrite?: boolean;
  /** SHA-256 of the text that the change is based on. */
  base_hash?: string | null;
  by?: By;
  reason?: string;
  type?: string;
}

export interface Patch {
  search: string;
  replace: string;
  replace_all?: boolean;
  base_hash?: string | null;
  by?: By;
  reason?: string;
}

/** A change that fits the file as it is now. */
export interface Change extends Packed {
  /** Of a file that comes back: it is the one it was, with its versions. */
  readonly id?: string;
  readonly path: string;
  readonly type: string;
  readonly old: FileRow | null;
  readonly by: By;
  readonly reason: string;
  readonly occurrences: number;
}

const MAX_VERSIONS = 50;
const READ_AT_ONCE = 100;
const NO_FILE = "There is no such file.";
const CHANGED = "it was changed meanwhile";
const STORES = ["files", "contents", "versions"] as const;

export type FileStores = Stores<(typeof STORES)[number]>;

/** Of the signed-in person's database; a worker passes the device that it opened by name. */
export async function openFiles(projectId: string, device?: Device): Promise<ProjectFiles> {
  return new ProjectFiles(device ?? (await openDevice()), projectId);
}

export class ProjectFiles {
  constructor(
    readonly device: Device,
    readonly projectId: string,
  ) {}

  async list(): Promise<FileRow[]> {
    const rows = await this.device.read("files", (stores) => stores.files.allBy("project", this.projectId));
    return rows.sort((one, other) => (one.path < other.path ? -1 : 1));
  }

  find(path: string): Promise<FileRow | undefined> {
    const key = keyOf(resolveFile(path));
    return this.device.read("files", (stores) => stores.files.by("path", [this.projectId, key]));
  }

  async read(path: string): Promise<FileWithContent> {
    const key = keyOf(resolveFile(path));
    const found = await this.device.read(["files", "contents"], async (stores) => {
      const row = await stores.files.by("path", [this.projectId, key]);
      return row && { row, content: await stores.contents.get(row.id) };
    });
    if (!found) throw new FileError("not_found", NO_FILE, path);
    return { row: found.row, ...(await unpack(found.content ?? {}, found.row.binary)) };
  }

  /** Refuses bytes that are no text. */
  async readText(path: string): Promise<{ row: FileRow; text: string }> {
    const { row, text } = await this.read(path);
    if (text === null)
      throw new FileError(
        "failed",
        `Error: '${row.path}' is not a text file (UTF-8), so it cannot be shown or edited here.`,
        path,
      );
    return { row, text };
  }

  /** The texts of many files, some at a time: one transaction for each file would take most of the time. */
  async *texts(rows: readonly FileRow[]): AsyncGenerator<{ row: FileRow; text: string }> {
    const readable = rows.filter((row) => !row.binary);
    for (let at = 0; at < readable.length; at += READ_AT_ONCE) {
      const some = readable.slice(at, at + READ_AT_ONCE);
      const contents = await this.device.read("contents", (stores) =>
        Promise.all(some.map((row) => stores.contents.get(row.id))),
      );
      for (const [place, row] of some.entries())
        yield { row, text: (await unpack(contents[place] ?? {}, false)).text ?? "" };
    }
  }

  async write(path: string, content: Content, options: WriteOptions = {}): Promise<FileRow> {
    return (await this.make([await this.planWrite(path, content, options)]))[0]!;
  }

  /** All of them or none. */
  async writeAll(
    files: readonly { path: string; content: Content; type?: string }[],
    options: WriteOptions = {},
  ): Promise<FileRow[]> {
    const changes: Change[] = [];
    for (const { path, content, type } of files)
      changes.push(await this.planWrite(path, content, { ...options, type }));
    return this.make(changes);
  }

  async patch(path: string, patch: Patch): Promise<FileRow> {
    return (await this.make([await this.planPatch(path, patch)]))[0]!;
  }

  async planWrite(raw: string, content: Content, options: WriteOptions = {}): Promise<Change> {
    const path = resolveFile(raw);
    const old = (await this.find(path)) ?? null;
    if (old && !options.overwrite) throw new FileError("conflict", "it exists already", path);
    requireBase(old, options.base_hash, path);
    const packed = await pack(content, path);
    const { by = "you", reason = "", type = old?.type ?? typeOf(path) } = options;
    return { path: old?.path ?? path, ...packed, type, old, by, reason, occurrences: 1 };
  }

  async planPatch(raw: string, patch: Patch): Promise<Change> {
    const { row, text } = await this.readText(raw);
    requireBase(row, patch.base_hash, row.path);
    if (!patch.search) throw new FileError("failed", "the text to replace is empty", row.path);
    const pieces = text.split(patch.search);
    const count = pieces.length - 1;
    if (count === 0) throw new FileError("conflict", "the text to replace does not occur in it", row.path);
    if (count > 1 && !patch.replace_all)
      throw new FileError("conflict", `the text to replace occurs ${count} times in it`, row.path);
    const packed = await pack(pieces.join(patch.replace), row.path);
    return {
      path: row.path,
      ...packed,
      type: row.type,
      old: row,
      by: patch.by ?? "you",
      reason: patch.reason ?? "",
      occurrences: count,
    };
  }

  /** Makes planned changes in one transaction. */
  async make(changes: readonly Change[]): Promise<FileRow[]> {
    const rows = await this.device.write(STORES, (stores) => this.makeIn(stores, changes));
    announceChange("files");
    return rows;
  }

  /** The same as a part of a larger transaction; call `announceChange("files")` after it. */
  async makeIn(stores: FileStores, changes: readonly Change[], at = new Date().toISOString()): Promise<FileRow[]> {
    const rows: FileRow[] = [];
    for (const change of changes) rows.push(await this.makeOne(stores, change, at));
    return rows;
  }

  private async makeOne(stores: FileStores, change: Change, at: string): Promise<FileRow> {
    const present = await stores.files.by("path", [this.projectId, keyOf(change.path)]);
    if ((present?.hash ?? null) !== (change.old?.hash ?? null)) {
      throw new FileError("conflict", present && !change.old ? "it exists already" : CHANGED, change.path);
    }
    const path = present?.path ?? (await this.placeFor(stores, change.path));
    const { binary, ...content } = change.content;
    const row: FileRow = {
      id: present?.id ?? change.id ?? crypto.randomUUID(),
      project_id: this.projectId,
      path,
      path_key: keyOf(path),
      title: nameOf(path),
      type: change.type,
      hash: change.hash,
      size: change.size,
      modified_at: at,
      ...(binary ? { binary } : {}),
    };
    await this.keepVersion(stores, present ?? { ...row, hash: "" }, change.by, change.reason, at);
    await stores.files.put(row);
    await stores.contents.put({ file_id: row.id, project_id: this.projectId, ...content });
    return row;
  }

  /** A new path in the spelling of the folders that are there. Refuses a file in place of a folder, and a folder in place of a file. */
  async placeFor(stores: FileStores, path: string): Promise<string> {
    const beneath = (key: string) =>
      IDBKeyRange.bound([this.projectId, `${key}/`], [this.projectId, `${key}0`], false, true);
    if ((await stores.files.countBy("path", beneath(keyOf(path)))) > 0) {
      throw new FileError("failed", `Error: '${path}' is a folder, not a file. List it with ls('${path}').`, path);
    }
    const folders = parentsOf(path);
    for (const folder of folders) {
      if (await stores.files.by("path", [this.projectId, keyOf(folder)])) {
        throw new FileError(
          "failed",
          `Error: '${path}' cannot be created: '${folder}' is a file, not a folder. Choose another folder.`,
          path,
        );
      }
    }
    for (const folder of folders) {
      const [inside] = await stores.files.allBy("path", beneath(keyOf(folder)), 1);
      if (inside)
        return inside.path.split("/").slice(0, folder.split("/").length).join("/") + path.slice(folder.length);
    }
    return path;
  }

  remove(path: string, by: By = "you", reason = "Removed"): Promise<void> {
    return this.removeAll([path], by, reason);
  }

  /** All of them or none: a folder. */
  async removeAll(paths: readonly string[], by: By = "you", reason = "Removed"): Promise<void> {
    await this.device.write(STORES, async (stores) => {
      for (const path of paths) {
        const row = await stores.files.by("path", [this.projectId, keyOf(resolveFile(path))]);
        if (!row) throw new FileError("not_found", NO_FILE, path);
        await this.removeIn(stores, row, by, reason);
      }
    });
    announceChange("files");
  }

  async removeIn(stores: FileStores, row: FileRow, by: By, reason: string): Promise<void> {
    await this.keepVersion(stores, row, by, reason, new Date().toISOString());
    await stores.files.delete(row.id);
    await stores.contents.delete(row.id);
  }

  /** Its versions go with it. */
  async rename(from: string, to: string): Promise<FileRow> {
    const [key, target] = [keyOf(resolveFile(from)), resolveFile(to)];
    const renamed = await this.device.write(STORES, async (stores) => {
      const row = await stores.files.by("path", [this.projectId, key]);
      if (!row) throw new FileError("not_found", NO_FILE, from);
      const there = await stores.files.by("path", [this.projectId, keyOf(target)]);
      if (there && there.id !== row.id) throw new FileError("conflict", "it exists already", to);
      const path = there ? target : await this.placeFor(stores, target);
      const next = {
        ...row,
        path,
        path_key: keyOf(path),
        title: nameOf(path),
        type: typeOf(path),
        modified_at: new Date().toISOString(),
      };
      await stores.files.put(next);
      return next;
    });
    announceChange("files");
    return renamed;
  }

  /** What a file was before each change, newest first. Its contents are read with `readVersion`. */
  async versions(path: string): Promise<FileVersion[]> {
    const row = await this.find(path);
    if (!row) throw new FileError("not_found", NO_FILE, path);
    return this.device.read("versions", (stores) => newestFirst(stores, row.id));
  }

  /** The last version of each file that is no longer there, newest first. */
  async removed(): Promise<FileVersion[]> {
    return this.device.read(["files", "versions"], async (stores) => {
      const present = new Set((await stores.files.allBy("project", this.projectId)).map((row) => row.id));
      const last = new Map<string, FileVersion>();
      for (const version of await stores.versions.allBy("project", this.projectId)) {
        const known = last.get(version.file_id);
        if (!present.has(version.file_id) && version.hash && (!known || known.at < version.at))
          last.set(version.file_id, version);
      }
      return [...last.values()].sort((one, other) => (one.at < other.at ? 1 : -1));
    });
  }

  async readVersion(version: FileVersion): Promise<{ text: string | null; blob: Blob | null }> {
    return unpack(version, isBinary(version.blob));
  }

  /** Makes a file what it was, in its present place; one that was removed comes back. Itself a change that can be undone. */
  async restore(version: FileVersion, reason = "Restored an earlier version"): Promise<FileRow | null> {
    const { text, blob } = await this.readVersion(version);
    const packed = version.hash ? await pack(text ?? blob!, version.path) : null;
    const at = new Date().toISOString();
    const restored = await this.device.write(STORES, async (stores) => {
      const present = await stores.files.get(version.file_id);
      if (present && wasMoved(version, present)) return this.moveBack(stores, present, version.path, reason, at);
      if (!packed) {
        if (present) await this.removeIn(stores, present, "you", reason);
        return null;
      }
      const path = present?.path ?? version.path;
      const taken = await stores.files.by("path", [this.projectId, keyOf(path)]);
      if (taken && !present) throw new FileError("conflict", "another file has this name by now", path);
      const change = {
        id: version.file_id,
        path,
        ...packed,
        type: present?.type ?? typeOf(path),
        old: present ?? null,
        by: "you" as const,
        reason,
        occurrences: 1,
      };
      return this.makeOne(stores, change, at);
    });
    announceChange("files");
    return restored;
  }

  /** What was only moved goes back to where it was. */
  private async moveBack(stores: FileStores, row: FileRow, to: string, reason: string, at: string): Promise<FileRow> {
    const taken = await stores.files.by("path", [this.projectId, keyOf(to)]);
    if (taken && taken.id !== row.id) throw new FileError("conflict", "another file has this name by now", to);
    const path = taken ? to : await this.placeFor(stores, to);
    await this.keepVersion(stores, row, "you", reason, at);
    const next = { ...row, path, path_key: keyOf(path), title: nameOf(path), type: typeOf(path), modified_at: at };
    await stores.files.put(next);
    return next;
  }

  /** Takes the last change back; once more, and it is made again. Null: the file is gone, because that change had created it. */
  async undo(path: string): Promise<FileRow | null> {
    const [last] = await this.versions(path);
    if (!last) throw new FileError("not_found", "Nothing has been changed here yet.", path);
    return this.restore(last, "Undone");
  }

  async keepVersion(stores: FileStores, row: FileRow, by: By, reason: string, at: string): Promise<void> {
    const content = row.hash ? await stores.contents.get(row.id) : undefined;
    const { text, blob } = content ?? {};
    const history = historyOf(row.id);
    const [last] = await newestFirst(stores, row.id, 1);
    // Two changes within a millisecond keep their order.
    const now = last && last.at >= at ? new Date(Date.parse(last.at) + 1).toISOString() : at;
    await stores.versions.add({
      id: crypto.randomUUID(),
      file_id: row.id,
      project_id: this.projectId,
      path: row.path,
      ...(text === undefined ? {} : { text }),
      ...(blob === undefined ? {} : { blob }),
      hash: row.hash,
      at: now,
      by,
      reason,
    });
    const keys = await stores.versions.keysBy("file", history);
    for (const key of keys.slice(0, -MAX_VERSIONS)) await stores.versions.delete(key);
  }
}

function wasMoved(version: FileVersion, present: FileRow): boolean {
  return version.hash === present.hash && version.path !== present.path;
}

function historyOf(fileId: string): IDBKeyRange {
  return IDBKeyRange.bound([fileId, ""], [fileId, "\uffff"]);
}

async function newestFirst(
  stores: Pick<FileStores, "versions">,
  fileId: string,
  count = MAX_VERSIONS,
): Promise<FileVersion[]> {
  const rows: FileVersion[] = [];
  await stores.versions.each((row) => rows.push(row) < count, "file", historyOf(fileId), "prev");
  return rows;
}

function requireBase(old: FileRow | null, base: string | null | undefined, path: string): void {
  if (base != null && old?.hash !== base) throw new FileError("conflict", CHANGED, path);
}
