/** Giving the person a file, and its size. */

import { bytes } from "./words";

/** The browser saves the text under the last part of the path. */
export function download(path: string, text: string, type = "text/plain;charset=utf-8"): void {
  saveBlob(path.split("/").filter(Boolean).at(-1) ?? "file.txt", new Blob([text], { type }));
}

export function saveBlob(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has taken it by then; revoking at once would cut off a slow disk.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

export function sizeWords(text: string): string {
  return bytes(new Blob([text]).size);
}
