// Images for a message. Large ones are made smaller here, before they leave the browser: models look at them at about this size anyway.

import { bytes } from "../lib/words";
import type { Picture } from "../state/types";

export const MAX_PICTURES = 6;
const MAX_FILE_BYTES = 30_000_000;
/** The longer side, in pixels. */
const MAX_SIDE = 1_568;
/** Six of them, as base64 in JSON, stay below the server's limit for a request. */
const MAX_SENT_BYTES = 900_000;
const QUALITIES = [0.86, 0.7, 0.5];
const SENT_AS_THEY_ARE = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);

/** An image as it will be sent. Throws an error with a sentence for people. */
export async function readPicture(file: File): Promise<Picture> {
  const name = file.name || "This image";
  if (file.size > MAX_FILE_BYTES)
    throw new Error(`${name} has ${bytes(file.size)}. Images up to ${bytes(MAX_FILE_BYTES)} can be added.`);
  const bitmap = await createImageBitmap(file).catch(() => null);
  if (!bitmap) throw new Error(`${name} is not an image that this browser can read. PNG, JPEG, WebP and GIF work.`);
  try {
    const isSmall = Math.max(bitmap.width, bitmap.height) <= MAX_SIDE && file.size <= MAX_SENT_BYTES;
    const blob = isSmall && SENT_AS_THEY_ARE.has(file.type) ? file : await shrink(bitmap);
    return { mimeType: blob.type, base64: await asBase64(blob), name: file.name };
  } finally {
    bitmap.close();
  }
}

async function shrink(bitmap: ImageBitmap): Promise<Blob> {
  const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const drawing = canvas.getContext("2d")!;
  drawing.fillStyle = "#fff"; // JPEG knows no transparency
  drawing.fillRect(0, 0, canvas.width, canvas.height);
  drawing.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  let smallest: Blob | null = null;
  for (const quality of QUALITIES) {
    smallest = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/jpeg", quality));
    if (smallest && smallest.size <= MAX_SENT_BYTES) return smallest;
  }
  if (!smallest || smallest.size > MAX_SENT_BYTES)
    throw new Error("This image cannot be made small enough to be sent. Cut out the part that matters.");
  return smallest;
}

async function asBase64(blob: Blob): Promise<string> {
  const reader = new FileReader();
  const read = new Promise<string>((resolve, reject) => {
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new Error("The image could not be read."));
  });
  reader.readAsDataURL(blob);
  return (await read).split(",", 2)[1]!;
}
