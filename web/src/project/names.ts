// Names of files as they come in: from a folder, a zip or a web page. A path here starts at the project's root ("/notes/a.md"), is in
// Unicode's composed form (NFC), and no two paths of a project differ only in case or normal form: on many disks those are one file, and
// one of the two would be lost on the way out. Such a name is changed ("a (2).md") and the person is told; nothing is ever merged in silence.

import { FileError } from "../device/errors";
import { keyOf, resolveFile } from "../device/paths";

/** What systems and tools leave behind: nobody means to bring it along. */
const LEFT_OUT_FOLDERS = ["__MACOSX", ".git", "node_modules"];
const LEFT_OUT_FILES = [".DS_Store", "Thumbs.db", "desktop.ini"];

export class NameError extends Error {
  override name = "NameError";
}

/** The path that a name means in a project. Throws `NameError` with a sentence for one that leads outside of it, or is no name. */
export function readPath(name: string): string {
  const path = name.replaceAll("\\", "/").normalize("NFC");
  if (path.startsWith("/"))
    throw new NameError(`“${name}” is an absolute name. Files may only go into the project. Nothing was imported.`);
  try {
    return resolveFile(path);
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    throw new NameError(`A file cannot be imported: ${error.sentence} Nothing was imported.`, { cause: error });
  }
}

export function isLeftOut(path: string): boolean {
  const parts = path.split("/").filter(Boolean);
  return (
    parts.slice(0, -1).some((part) => LEFT_OUT_FOLDERS.includes(part)) || LEFT_OUT_FILES.includes(parts.at(-1) ?? "")
  );
}

/** "/notes/a.md", 2 -> "/notes/a (2).md" */
export function numberedPath(path: string, number: number): string {
  const slash = path.lastIndexOf("/");
  const dot = path.lastIndexOf(".");
  const end = dot > slash + 1 ? dot : path.length;
  return `${path.slice(0, end)} (${number})${path.slice(end)}`;
}

/** One file that is to come in, and where it goes. */
export interface Placed {
  readonly path: string;
  /** There is a file of just this path: it gets a new version. */
  readonly replaces: boolean;
}

/**
 * Finds each new file its place beside those that are there and those that came before it.
 *
 *   a folder that differs from one only in case      its files go into that one
 *   a file of just this path, there before           a new version of it
 *   another that differs only in case, or the same   another name: "a (2).md"
 *   path twice in one import, or a folder's name
 */
export class Places {
  /** Sentences for the person. */
  readonly told: string[] = [];
  private readonly taken = new Map<string, string>();
  private readonly folders = new Map<string, string>();
  private readonly before: ReadonlySet<string>;

  constructor(existing: Iterable<string>) {
    const paths = [...existing];
    this.before = new Set(paths);
    for (const path of paths) this.take(path);
  }

  place(wanted: string): Placed {
    const path = this.intoFolders(wanted);
    const other = this.taken.get(keyOf(path));
    if (other === path && this.before.has(path) && !this.replaced.has(path)) {
      this.replaced.add(path);
      return { path, replaces: true };
    }
    if (other === undefined && !this.folders.has(keyOf(path))) return this.take(path);
    let number = 2;
    while (this.isTaken(numberedPath(path, number))) number++;
    const free = numberedPath(path, number);
    const why =
      other === undefined
        ? "is a folder's name here"
        : other === path
          ? "comes twice"
          : `differs from “${other}” only in case or accents' form`;
    this.told.push(`“${path}” ${why}: it is kept as “${free}”.`);
    return this.take(free);
  }

  private readonly replaced = new Set<string>();

  private isTaken(path: string): boolean {
    return this.taken.has(keyOf(path)) || this.folders.has(keyOf(path));
  }

  /** The path with its folders spelled as they are already; a folder that is a file's name here gets another. */
  private intoFolders(wanted: string): string {
    const parts = wanted.split("/").slice(1);
    let folder = "";
    for (const part of parts.slice(0, -1)) {
      const asked = `${folder}/${part}`;
      folder = this.folders.get(keyOf(asked)) ?? this.openFolder(asked);
      if (folder !== asked && keyOf(folder) === keyOf(asked))
        this.tellOnce(
          `The folder “${asked}” differs from “${folder}” only in case or accents' form: its files are in “${folder}”.`,
        );
    }
    return `${folder}/${parts.at(-1)}`;
  }

  private openFolder(asked: string): string {
    let free = asked;
    for (let number = 2; this.taken.has(keyOf(free)); number++) free = `${asked} (${number})`;
    if (free !== asked) this.tellOnce(`“${asked}” is a file here: the folder of that name is kept as “${free}”.`);
    this.folders.set(keyOf(asked), free);
    this.folders.set(keyOf(free), free);
    return free;
  }

  private take(path: string): Placed {
    this.taken.set(keyOf(path), path);
    const parts = path.split("/").slice(1, -1);
    parts.forEach((_, at) => {
      const folder = `/${parts.slice(0, at + 1).join("/")}`;
      if (!this.folders.has(keyOf(folder))) this.folders.set(keyOf(folder), folder);
    });
    return { path, replaces: false };
  }

  private tellOnce(sentence: string): void {
    if (!this.told.includes(sentence)) this.told.push(sentence);
  }
}
