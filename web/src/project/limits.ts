// How much may come in at once. A file or an archive above a limit is refused before a byte of it is read.

import { MAX_FILE_BYTES } from "../device/content";
import { bytes } from "../lib/words";

export const LIMITS = {
  /** One file. */
  file: MAX_FILE_BYTES,
  /** A zip file, packed. */
  archive: 250_000_000,
  /** Everything of one import, unpacked. */
  total: 500_000_000,
  files: 10_000,
} as const;

export class TooLargeError extends Error {
  override name = "TooLargeError";
}

export function refuseTooLarge(name: string, size: number, most: number = LIMITS.file): void {
  if (size > most)
    throw new TooLargeError(
      `“${name}” has ${bytes(size)}. At most ${bytes(most)} can be kept on this device as one file. Nothing was imported.`,
    );
}

/** A thing that the person chose, by its size alone. */
export function refuseSource({
  kind,
  files,
}: {
  kind: "files" | "zip";
  files: readonly { name: string; file: Blob }[];
}): void {
  for (const { name, file } of files) refuseTooLarge(name, file.size, kind === "zip" ? LIMITS.archive : LIMITS.file);
}
