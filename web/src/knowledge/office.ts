// Files that the server reads for the browser: which they are, and how one is sent. The file leaves the device for that, and is listed as
// such; the server returns its text and keeps nothing. The text of an image is written down by a connected model.

import { ApiError, request, type Schemas } from "../api";
import { recordSent } from "../device/sent-log";
import type { OfficeKind } from "./extraction";

export type DocumentText = Schemas["DocumentText"];

const TYPES: readonly (readonly [RegExp, OfficeKind, string])[] = [
  [/^doc[xm]$/, "word", "a Word file"],
  [/^p(pt[xm]|psx)$/, "slides", "a PowerPoint file"],
  [/^xls[xm]$/, "sheet", "an Excel file"],
  [/^epub$/, "book", "an EPUB book"],
  [/^eml$/, "mail", "a saved mail"],
  [/^mbox$/, "mail", "a mailbox"],
  [/^(jsonl|ndjson)$/, "records", "a file of messages or records"],
  [/^(png|jpe?g|webp|gif)$/, "image", "an image"],
];

const endingOf = (name: string): string => /\.([a-z]+)$/i.exec(name)?.[1]?.toLowerCase() ?? "";
const typeOf = (name: string) => TYPES.find(([ending]) => ending.test(endingOf(name)));

/** Null: the browser reads it alone. */
export const officeKindOf = (name: string): OfficeKind | null => typeOf(name)?.[1] ?? null;

/** A model sees it, wherever that is. */
export const isImage = (file: Pick<File, "name">): boolean => officeKindOf(file.name) === "image";

/** "a Word file". */
export const officeWordsOf = (name: string): string => typeOf(name)?.[2] ?? "this file";

/** Whether the page comes from the machine that it is shown on: nothing leaves it then. */
export const isOnThisMachine = (hostname = location.hostname): boolean =>
  /^((.*\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i.test(hostname);

const READ_MS = 120_000;
const BUSY = new Set([429, 503]);
const MOST_TRIES = 20;
const PAUSE_MS = 1_500;

/** Only the ending of its name is sent: that says how to read it. */
export async function readOnServer(file: File, signal: AbortSignal): Promise<DocumentText> {
  await recordSent({
    kind: "file",
    thread_id: "",
    to: isImage(file) ? "this server and a connected model, to read it" : "this server, to read it",
    label: file.name,
    text: "",
    bytes: file.size,
  });
  const headers = { "Content-Type": "application/octet-stream", "X-Stepwell-File-Name": `file.${endingOf(file.name)}` };
  for (let tries = 1; ; tries++) {
    try {
      return await request<DocumentText>("/api/documents/read", {
        method: "POST",
        body: file,
        headers,
        signal,
        timeoutMs: READ_MS,
      });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ApiError) || !BUSY.has(error.status) || tries >= MOST_TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      signal.throwIfAborted();
    }
  }
}
