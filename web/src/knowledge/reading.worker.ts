// Reads one document: bytes in, passages out. A worker of its own for each, so that stopping it stops everything it was at, and its memory
// goes with it.

/// <reference lib="webworker" />
import { cutIntoPassages, type Passage } from "./chunks";
import { decode, kindOf, readHtml, tidy, titleOfMarkdown, UnreadableError, type DocumentKind } from "./extraction";
import { extentOf, inUtf16, mapParts, type Part } from "./parts";
import { readTable } from "./tables";

export type ToReader =
  | { kind: "file"; name: string; blob: Blob }
  | { kind: "text"; text: string; headings?: boolean }
  /** What the server read; its offsets count characters. */
  | { kind: "document"; documentKind: DocumentKind; title: string; text: string; parts: readonly Part[] };
export interface Read {
  readonly documentKind: DocumentKind;
  readonly title: string;
  readonly passages: Passage[];
  readonly characters: number;
  /** "12 slides". */
  readonly extent: string;
  /** SHA-256 of the text: the same words are the same document, whatever file they come in. */
  readonly hash: string;
}
export type FromReader =
  | { kind: "progress"; done: number; of: number }
  | { kind: "read"; read: Read }
  | { kind: "unreadable"; message: string };

const scope = self as unknown as DedicatedWorkerGlobalScope;
const say = (message: FromReader) => scope.postMessage(message);

scope.onmessage = ({ data }: MessageEvent<ToReader>) => {
  read(data).then(
    (found) => say({ kind: "read", read: found }),
    (error: unknown) => {
      if (!(error instanceof UnreadableError)) console.warn("A document could not be read:", error);
      say({
        kind: "unreadable",
        message:
          error instanceof UnreadableError ? error.message : "This document could not be read. Nothing of it was kept.",
      });
    },
  );
};

interface Extracted {
  readonly kind: DocumentKind;
  readonly title: string;
  readonly text: string;
  readonly parts?: readonly Part[];
  readonly headings?: boolean;
}

async function read(given: ToReader): Promise<Read> {
  const { kind, title, text, parts, headings } = await extract(given);
  // Part by part, so that where each begins stays true; and the whole, which must not be too long.
  const tidied = parts?.length ? mapParts(text, parts, tidy) : { text, parts: [] };
  const whole = tidy(tidied.text);
  const passages = cutIntoPassages(whole, { parts: tidied.parts, headings });
  if (!passages.length) throw new UnreadableError("There is no text in this document.");
  return {
    documentKind: kind,
    title,
    passages,
    characters: whole.length,
    extent: extentOf(tidied.parts),
    hash: await hashOf(whole),
  };
}

async function extract(given: ToReader): Promise<Extracted> {
  if (given.kind === "text") return { kind: "text", title: "", text: given.text, headings: given.headings };
  if (given.kind === "document")
    return {
      kind: given.documentKind,
      title: given.title,
      text: given.text,
      parts: inUtf16(given.text, given.parts),
      headings: true,
    };
  const bytes = new Uint8Array(await given.blob.arrayBuffer());
  const kind = kindOf(given.name, bytes);
  if (kind === "pdf") {
    const { readPdf } = await import("./pdf");
    const { title, text, pages } = await readPdf(bytes, (done, of) => say({ kind: "progress", done, of }));
    return { kind, title, text, parts: pages.map((start, n) => ({ start, name: `page ${n + 1}`, cells: "" })) };
  }
  const text = decode(bytes, kind === "html");
  if (kind === "html") return { kind, ...readHtml(text) };
  if (kind === "table") return { kind, title: "", ...readTable(tidy(text), /\.t(sv|ab)$/i.test(given.name)) };
  return kind === "markdown" ? { kind, title: titleOfMarkdown(text), text, headings: true } : { kind, title: "", text };
}

async function hashOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
