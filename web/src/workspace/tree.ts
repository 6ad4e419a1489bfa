/** The names of files as a tree of folders, and what a file is by its name and its first bytes. */

import type { WorkspaceFile } from "./files";

export interface Folder {
  readonly name: string;
  /** "/plans/" */
  readonly path: string;
  readonly folders: readonly Folder[];
  readonly files: readonly WorkspaceFile[];
  /** Files in it and below it. */
  readonly count: number;
}

export function treeOf(files: readonly WorkspaceFile[]): Folder {
  return grow("", "/", files);
}

function grow(name: string, path: string, files: readonly WorkspaceFile[]): Folder {
  const own: WorkspaceFile[] = [];
  const below = new Map<string, WorkspaceFile[]>();
  for (const file of files) {
    const rest = file.path.slice(path.length);
    const slash = rest.indexOf("/");
    if (slash === -1) own.push(file);
    else {
      const folder = rest.slice(0, slash);
      const inside = below.get(folder);
      if (inside) inside.push(file);
      else below.set(folder, [file]);
    }
  }
  const folders = [...below].map(([folder, inside]) => grow(folder, `${path}${folder}/`, inside));
  return {
    name,
    path,
    folders: folders.sort((one, two) => one.name.localeCompare(two.name)),
    files: own,
    count: files.length,
  };
}

const IMAGES = /\.(png|jpe?g|gif|webp|avif|svg|ico)$/i;

export type Look = "markdown" | "image" | "text" | "other";

/** How a file is shown. A text is valid UTF-8 without zero bytes; the end of a part may cut a letter in two. */
export function lookOf(path: string, start: Uint8Array): Look {
  if (IMAGES.test(path)) return "image";
  if (start.includes(0) || decode(start) === null) return "other";
  return /\.(md|markdown)$/i.test(path) ? "markdown" : "text";
}

/** The text of bytes that may end inside a letter; null: it is no text. */
export function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return null;
  }
}

/** Another name for a file, where its own is taken: "plan (2).md". */
export function freeName(path: string, taken: (path: string) => boolean): string {
  const [, stem = path, ending = ""] = /^(.*?[^/])(\.[^./]*)?$/.exec(path) ?? [];
  for (let number = 2; ; number++) {
    const next = `${stem} (${number})${ending}`;
    if (!taken(next)) return next;
  }
}
