/**
 * What a file holds, as it is stored: text, or bytes. A long text is stored as bytes too, so that no thread has to copy it to keep it.
 */

import { FileError } from "./errors";

export type Content = string | Blob;

export interface Stored {
  text?: string;
  blob?: Blob;
  /** Bytes that are no text. */
  binary?: boolean;
}

export interface Packed {
  readonly content: Stored;
  readonly hash: string;
  /** In bytes. */
  readonly size: number;
}

export const MAX_FILE_BYTES = 50_000_000;
const MAX_INLINE_CHARS = 500_000;
const TEXT = "text/plain";
const BYTES = "application/octet-stream";
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/** SHA-256 in hexadecimal. */
export async function hashOf(content: string | ArrayBuffer): Promise<string> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Content as it is stored, with its hash and size. */
export async function pack(content: Content, path: string): Promise<Packed> {
  const size = typeof content === "string" ? content.length : content.size;
  if (size > MAX_FILE_BYTES) {
    throw new FileError(
      "too_large",
      `${Math.ceil(size / 1e6)} MB; a project takes files up to ${MAX_FILE_BYTES / 1e6} MB.`,
      path,
    );
  }
  if (typeof content === "string") return packText(content, path);
  return packBytes(await content.arrayBuffer());
}

/** Bytes that the caller holds already: no way through a Blob and back. */
export async function packBytes(bytes: ArrayBuffer): Promise<Packed> {
  const [hash, size, text] = [await hashOf(bytes), bytes.byteLength, asText(bytes)];
  if (text === null) return { content: { blob: new Blob([bytes], { type: BYTES }), binary: true }, hash, size };
  return {
    content: text.length <= MAX_INLINE_CHARS ? { text } : { blob: new Blob([bytes], { type: TEXT }) },
    hash,
    size,
  };
}

async function packText(text: string, path: string): Promise<Packed> {
  if (LONE_SURROGATE.test(text))
    throw new FileError("failed", "the text holds half of a character (a lone surrogate)", path);
  const bytes = new TextEncoder().encode(text);
  const content = text.length <= MAX_INLINE_CHARS ? { text } : { blob: new Blob([bytes], { type: TEXT }) };
  return { content, hash: await hashOf(bytes.buffer), size: bytes.length };
}

export async function unpack(
  content: Stored,
  binary = content.binary,
): Promise<{ text: string | null; blob: Blob | null }> {
  if (content.text !== undefined) return { text: content.text, blob: null };
  if (!content.blob) return { text: binary ? null : "", blob: null };
  return binary ? { text: null, blob: content.blob } : { text: asText(await content.blob.arrayBuffer()), blob: null };
}

/** A byte order mark stays a part of the text: what comes in must go out again byte for byte. */
function asText(bytes: ArrayBuffer): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

/** Whether kept bytes are no text. */
export function isBinary(blob: Blob | undefined): boolean {
  return blob !== undefined && !blob.type.startsWith(TEXT);
}
