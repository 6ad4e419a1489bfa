// What a person chose or dropped, as sources of an import: files, folders with everything in them, zip files. Nothing is read here.

import { LIMITS, TooLargeError } from "./limits";
import type { Source } from "./importing";

type Named = { name: string; file: File };

const isZip = (file: File) =>
  /\.zip$/i.test(file.name) || file.type === "application/zip" || file.type === "application/x-zip-compressed";

/** From a file input. Files of a chosen folder carry their path. */
export function sourcesOf(files: Iterable<File>): Source[] {
  return group([...files].map((file) => ({ name: file.webkitRelativePath || file.name, file })));
}

/** From a drop. The browser forgets what was dropped as soon as the event is over, so entries are taken at once. */
export async function sourcesOfDrop(data: DataTransfer): Promise<Source[]> {
  const entries = [...data.items]
    .filter((item) => item.kind === "file")
    .map((item) => item.webkitGetAsEntry() ?? item.getAsFile());
  const found: Named[] = [];
  for (const entry of entries) {
    if (entry instanceof File) found.push({ name: entry.name, file: entry });
    else if (entry) await collect(entry, "", found);
  }
  return group(found);
}

export const hasFiles = (data: DataTransfer | null): boolean => data?.types.includes("Files") ?? false;

async function collect(entry: FileSystemEntry, above: string, found: Named[]): Promise<void> {
  if (found.length > LIMITS.files * 2)
    throw new TooLargeError(
      `This folder has more than ${(LIMITS.files * 2).toLocaleString("en")} files. At most ${LIMITS.files.toLocaleString("en")} can be imported at once.`,
    );
  const name = above + entry.name;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    found.push({ name, file });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  // A reader gives at most a hundred at a time, and an empty list at its end.
  for (;;) {
    const inside = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!inside.length) return;
    for (const each of inside) await collect(each, `${name}/`, found);
  }
}

/** A zip is a source, so is a folder; single files are one together. */
function group(found: readonly Named[]): Source[] {
  const folders = new Map<string, Named[]>();
  const singles: Named[] = [];
  const zips: Source[] = [];
  for (const each of found) {
    const slash = each.name.indexOf("/");
    if (slash > 0) {
      const folder = each.name.slice(0, slash);
      (folders.get(folder) ?? folders.set(folder, []).get(folder)!).push(each);
    } else if (isZip(each.file)) zips.push({ label: each.name, kind: "zip", files: [each] });
    else singles.push(each);
  }
  const loose: Source[] = singles.length
    ? [{ label: singles.length === 1 ? singles[0]!.name : `${singles.length} files`, kind: "files", files: singles }]
    : [];
  return [
    ...[...folders].map(([label, files]): Source => ({ label: `${label}/`, kind: "files", files })),
    ...zips,
    ...loose,
  ];
}

/** What a new project is called after what was put into it. */
export function projectNameOf(sources: readonly Source[]): string {
  const label = sources[0]?.label ?? "";
  const name = label
    .replace(/\/$/, "")
    .replace(/\.zip$/i, "")
    .trim();
  return sources.length === 1 && name && !/^\d+ files$/.test(name) ? name.slice(0, 80) : "My project";
}
