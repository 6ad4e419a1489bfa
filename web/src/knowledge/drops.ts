// What is dropped on the page, taken out of the event before the browser forgets it.

import type { Dropped } from "./summary.svelte";

const MOST_FILES = 2_000;

/** A drag of files or of a link from elsewhere; a drag of words inside of the page, or into a field, is the browser's own business. */
export function isForUs(event: DragEvent): boolean {
  if (event.defaultPrevented) return false;
  const types = event.dataTransfer?.types ?? [];
  return types.includes("Files") || (types.includes("text/uri-list") && !isField(event.target));
}

const isField = (target: EventTarget | null) =>
  target instanceof Element && target.closest("input, textarea, [contenteditable]") !== null;

/** At once: after the event its items are gone. */
export function takeDrop(transfer: DataTransfer): Dropped {
  const entries = [...transfer.items].flatMap((item) =>
    item.kind === "file" ? (item.webkitGetAsEntry?.() ?? []) : [],
  );
  return { entries, files: [...transfer.files], text: transfer.getData("text/uri-list") };
}

/** All files, those in folders too; hidden ones are left where they are. */
export async function filesOf(dropped: Dropped): Promise<File[]> {
  if (!dropped.entries.some((entry) => entry.isDirectory)) return [...dropped.files];
  const found: File[] = [];
  const waiting = [...dropped.entries];
  while (waiting.length && found.length < MOST_FILES) {
    const entry = waiting.shift()!;
    if (entry.name.startsWith(".")) continue;
    if (entry.isFile)
      found.push(await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)));
    else waiting.unshift(...(await listFolder(entry as FileSystemDirectoryEntry)));
  }
  return found;
}

/** A reader gives a hundred at a time, and nothing at the end. */
async function listFolder(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!part.length) return found.sort((one, two) => one.name.localeCompare(two.name));
    found.push(...part);
  }
}

/** One file that is called a zip is a bundle to check; everything else is knowledge. */
export const isBundle = (dropped: Dropped): boolean =>
  dropped.files.length === 1 && /\.zip$/i.test(dropped.files[0]!.name);
