// What can be shown of a file, and how much of it at once.

import type { Device, FileRow } from "../device/database";

export type Look = "markdown" | "text" | "image" | "pdf" | "bytes";

export interface Shown {
  readonly look: Look;
  /** Of the file that this is read from. */
  readonly hash: string;
  /** For a text: its beginning. */
  readonly text: string;
  /** All of it is here, and short enough to be edited. */
  readonly whole: boolean;
  readonly content: Blob;
  /** For an image: a data: address, which the page's policy allows. */
  readonly image: string;
}

const IMAGES: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  svg: "image/svg+xml",
};
/** A text field above this is slow in every browser. */
export const MOST_EDITED = 200_000;
const MOST_IMAGE = 20_000_000;

export const suffixOf = (path: string): string => path.slice(path.lastIndexOf(".") + 1).toLowerCase();

export function mediaTypeOf(row: FileRow): string {
  const suffix = suffixOf(row.path);
  return (
    IMAGES[suffix] ??
    (suffix === "pdf" ? "application/pdf" : row.binary ? "application/octet-stream" : "text/plain;charset=utf-8")
  );
}

function lookOf(row: FileRow): Look {
  const suffix = suffixOf(row.path);
  if (IMAGES[suffix] && row.size <= MOST_IMAGE) return "image";
  if (suffix === "pdf") return "pdf";
  if (row.binary) return "bytes";
  return suffix === "md" || suffix === "markdown" ? "markdown" : "text";
}

/** Reads only as much of a long text as is shown. */
export async function readShown(device: Device, row: FileRow, most: number): Promise<Shown> {
  const kept = await device.read("contents", (stores) => stores.contents.get(row.id));
  if (!kept) throw new Error(`“${row.title}” is no longer here.`);
  const content = new Blob([kept.blob ?? kept.text ?? ""], { type: mediaTypeOf(row) });
  const look = lookOf(row);
  const isText = look === "text" || look === "markdown" || suffixOf(row.path) === "svg";
  const all = kept.text ?? (isText ? await content.slice(0, most * 4).text() : "");
  const whole = kept.text !== undefined ? kept.text.length <= MOST_EDITED : false;
  return {
    look,
    hash: row.hash,
    text: isText ? all.slice(0, whole ? undefined : most) : "",
    whole,
    content,
    image: look === "image" ? await dataAddress(content) : "",
  };
}

function dataAddress(content: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new Error("The image cannot be read.", { cause: reader.error }));
    reader.readAsDataURL(content);
  });
}
