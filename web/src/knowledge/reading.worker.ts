// Reads one document: bytes in, passages out. A worker of its own for each, so that stopping it stops everything it was at, and its memory
// goes with it.

/// <reference lib="webworker" />
import { cutIntoPassages, cutPagesIntoPassages, type Passage } from "./chunks";
import { decode, kindOf, readHtml, tidy, titleOfMarkdown, UnreadableError, type DocumentKind } from "./extraction";

export type ToReader = { kind: "file"; name: string; blob: Blob } | { kind: "text"; text: string };
export interface Read {
  readonly documentKind: DocumentKind;
  readonly title: string;
  readonly passages: Passage[];
  readonly characters: number;
  readonly pages?: number[];
  /** SHA-256 of the text: the same words are the same document, whatever file they come in. */
  readonly hash: string;
}
export type FromReader = { kind: "progress"; done: number; of: number } | { kind: "read"; read: Read } | { kind: "unreadable"; message: string };

const scope = self as unknown as DedicatedWorkerGlobalScope;
const say = (message: FromReader) => scope.postMessage(message);

scope.onmessage = ({ data }: MessageEvent<ToReader>) => {
  read(data).then(
    (found) => say({ kind: "read", read: found }),
    (error: unknown) => {
      if (!(error instanceof UnreadableError)) console.warn("A document could not be read:", error);
      say({ kind: "unreadable", message: error instanceof UnreadableError ? error.message : "This document could not be read. Nothing of it was kept." });
    },
  );
};

async function read(given: ToReader): Promise<Read> {
  const { kind, title, text, pages } = given.kind === "text" ? { kind: "text" as const, title: "", text: given.text, pages: undefined } : await extract(given);
  const tidied = pages ? text : tidy(text);
  const passages = pages ? cutPagesIntoPassages(tidied, pages) : cutIntoPassages(tidied);
  if (!passages.length) throw new UnreadableError("There is no text in this document.");
  return { documentKind: kind, title, passages, characters: tidied.length, pages, hash: await hashOf(tidied) };
}

async function extract({ name, blob }: { name: string; blob: Blob }): Promise<{ kind: DocumentKind; title: string; text: string; pages?: number[] }> {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const kind = kindOf(name, bytes);
  if (kind === "pdf") {
    const { readPdf } = await import("./pdf");
    const found = await readPdf(bytes, (done, of) => say({ kind: "progress", done, of }));
    return { kind, ...tidyPages(found) };
  }
  const text = decode(bytes, kind === "html");
  if (kind === "html") return { kind, ...readHtml(text) };
  return { kind, title: kind === "markdown" ? titleOfMarkdown(text) : "", text };
}

/** Page by page, so that where each begins stays true. */
function tidyPages(found: { title: string; text: string; pages: number[] }): { title: string; text: string; pages: number[] } {
  const pages: number[] = [];
  let text = "";
  found.pages.forEach((start, n) => {
    pages.push(text.length);
    text += tidy(found.text.slice(start, found.pages[n + 1]));
  });
  return { title: found.title, text: tidy(text), pages };
}

async function hashOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
