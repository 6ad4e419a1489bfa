// The files of a project as a tree, and as the rows that are seen of it. Pure: a view draws the rows in its window, so that thousands of
// files cost no more than a screenful.

import { nameOf } from "../lib/paths";

export interface Listed {
  readonly id: string;
  readonly path: string;
  readonly size: number;
}

export interface TreeRow<File extends Listed = Listed> {
  /** The path; a folder's ends in "/". */
  readonly key: string;
  readonly name: string;
  /** From 1, as screen readers count. */
  readonly level: number;
  readonly file: File | null;
  /** For a folder. */
  readonly open: boolean;
  readonly files: number;
  /** Its place among its siblings, from 1, and how many they are. */
  readonly place: number;
  readonly siblings: number;
}

export interface Folder<File extends Listed> {
  readonly folders: Map<string, Folder<File>>;
  files: File[];
  count: number;
  /** Names of its folders in their order; null until somebody looks into it. Sorting all of a large project at once would be felt. */
  names: string[] | null;
}

const order = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

export function growTree<File extends Listed>(files: readonly File[]): Folder<File> {
  const root: Folder<File> = { folders: new Map(), files: [], count: 0, names: null };
  for (const file of files) {
    let folder = root;
    folder.count++;
    for (const part of file.path.split("/").slice(1, -1)) {
      const next = folder.folders.get(part) ?? { folders: new Map(), files: [], count: 0, names: null };
      folder.folders.set(part, next);
      folder = next;
      folder.count++;
    }
    folder.files.push(file);
  }
  return root;
}

function namesIn<File extends Listed>(folder: Folder<File>): string[] {
  if (folder.names) return folder.names;
  const named = folder.files.map((file) => ({ file, name: nameOf(file.path) }));
  folder.files = named.sort((one, two) => order.compare(one.name, two.name)).map(({ file }) => file);
  return (folder.names = [...folder.folders.keys()].sort(order.compare));
}

/** The rows in their order: folders first, then files, each with what is in it while it is open. */
export function rowsOf<File extends Listed>(root: Folder<File>, isOpen: (folder: string) => boolean): TreeRow<File>[] {
  const rows: TreeRow<File>[] = [];
  const visit = (folder: Folder<File>, at: string, level: number) => {
    const names = namesIn(folder);
    const siblings = names.length + folder.files.length;
    names.forEach((name, n) => {
      const inner = folder.folders.get(name)!;
      const key = `${at}${name}/`;
      const open = isOpen(key);
      rows.push({ key, name, level, file: null, open, files: inner.count, place: n + 1, siblings });
      if (open) visit(inner, key, level + 1);
    });
    folder.files.forEach((file, n) =>
      rows.push({
        key: file.path,
        name: nameOf(file.path),
        level,
        file,
        open: false,
        files: 0,
        place: names.length + n + 1,
        siblings,
      }),
    );
  };
  visit(root, "/", 1);
  return rows;
}

/** Which rows are drawn: those in view, and some around them. */
export function windowOf(
  count: number,
  rowHeight: number,
  scrollTop: number,
  height: number,
  around = 8,
): { from: number; to: number } {
  const from = Math.max(0, Math.floor(scrollTop / rowHeight) - around);
  return { from: Math.min(from, count), to: Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + around) };
}

export type Move = { to: number } | { toggle: string } | null;

/** What a key does in a tree (ARIA authoring practices): where the focus goes, or which folder opens or closes. */
export function moveInTree(rows: readonly TreeRow[], at: number, key: string): Move {
  const row = rows[at];
  if (!row) return rows.length ? { to: 0 } : null;
  if (key === "ArrowDown") return { to: Math.min(at + 1, rows.length - 1) };
  if (key === "ArrowUp") return { to: Math.max(at - 1, 0) };
  if (key === "Home") return { to: 0 };
  if (key === "End") return { to: rows.length - 1 };
  if (key === "PageDown") return { to: Math.min(at + 12, rows.length - 1) };
  if (key === "PageUp") return { to: Math.max(at - 12, 0) };
  if (key === "ArrowRight" && !row.file)
    return row.open ? { to: Math.min(at + 1, rows.length - 1) } : { toggle: row.key };
  if (key === "ArrowLeft") return row.open ? { toggle: row.key } : { to: parentOf(rows, at) };
  return key.length === 1 && key !== " " ? { to: nextBeginning(rows, at, key) } : null;
}

function parentOf(rows: readonly TreeRow[], at: number): number {
  for (let up = at - 1; up >= 0; up--) if (rows[up]!.level < rows[at]!.level) return up;
  return at;
}

/** The next row whose name begins with a letter, around the end. */
function nextBeginning(rows: readonly TreeRow[], at: number, letter: string): number {
  for (let step = 1; step <= rows.length; step++) {
    const next = (at + step) % rows.length;
    if (rows[next]!.name.toLowerCase().startsWith(letter.toLowerCase())) return next;
  }
  return at;
}
