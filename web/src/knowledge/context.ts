// What a passage is about beyond its own words: its document's title and the headings above it. They help to find it, and are no part of
// what is quoted. Pure.

import type { Chunk, KnowledgeDocument } from "../device/database";

const CONTEXT_CHARS = 200;

/** What a document is called where its passages are searched; an address says nothing there. */
export function titleOf(document: KnowledgeDocument): string {
  if (document.kind === "url" && !document["fetched_at"]) return "";
  return typeof document["title"] === "string" ? document["title"] : document.label.replace(/\.[a-z]{2,5}$/i, "");
}

/** A passage as it is compared. */
export function withContext(chunk: Pick<Chunk, "text" | "section" | "place">, title = ""): string {
  const sheet = /^(?:sheet|chapter) ([^,]+)/.exec(chunk.place ?? "")?.[1];
  const above = [title, sheet, chunk.section].filter(Boolean).join(" > ");
  return above ? `${above.slice(0, CONTEXT_CHARS)}\n${chunk.text}` : chunk.text;
}

const PLAIN = new Set(["text", "pdf", "html", "note", "table"]);

/** Words for reading, without the signs before headings, if the document's kind has such. */
export function asShown(text: string, document: Pick<KnowledgeDocument, "kind"> | undefined): string {
  return document && !PLAIN.has(document.kind) ? text.replace(/^#{1,6}[ \t]+(?=\S)/gm, "") : text;
}
