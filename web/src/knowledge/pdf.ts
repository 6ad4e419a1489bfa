// The text of a PDF, page by page. It is called in a worker, and pdf.js parses in one of its own below that, which ends with it. Nothing is
// drawn, no font and no table is fetched, and no script is made of what a file holds.

import { getDocument, GlobalWorkerOptions, type PDFDocumentProxy } from "pdfjs-dist";
import type { TextContent } from "pdfjs-dist/types/src/display/api";
import parser from "pdfjs-dist/build/pdf.worker.min.mjs?url";
import { UnreadableError } from "./extraction";

export interface PdfText {
  readonly title: string;
  readonly text: string;
  /** Where each page begins in the text. */
  readonly pages: number[];
}

export const MAX_PAGES = 2_000;
/** Fewer letters than this on all pages: pictures of pages, with a stamp at most. */
const LEAST_LETTERS = 20;

const SCANNED =
  "This PDF has pictures of pages and no text: it was scanned. Run it through text recognition (OCR), and add the result.";
const LOCKED = "This PDF is locked with a password. Save a copy without the password, and add that.";
const BROKEN = "This PDF is damaged and cannot be read. Open it elsewhere, save it again, and add that.";

export async function readPdf(bytes: Uint8Array, onPage: (done: number, of: number) => void): Promise<PdfText> {
  const document = await open(bytes);
  try {
    if (document.numPages > MAX_PAGES)
      throw new UnreadableError(
        `This PDF has ${document.numPages.toLocaleString("en")} pages; at most ${MAX_PAGES.toLocaleString("en")} can be kept. Split it, and add the parts that you need.`,
      );
    const pages: number[] = [];
    let text = "";
    for (let number = 1; number <= document.numPages; number++) {
      pages.push(text.length);
      text += `${await textOfPage(document, number)}\n\n`;
      onPage(number, document.numPages);
    }
    if ((text.match(/[\p{L}\p{N}]/gu)?.length ?? 0) < LEAST_LETTERS) throw new UnreadableError(SCANNED);
    return { title: await titleOf(document), text, pages };
  } finally {
    await document.loadingTask.destroy();
  }
}

async function open(bytes: Uint8Array): Promise<PDFDocumentProxy> {
  GlobalWorkerOptions.workerPort ??= new Worker(new URL(parser, location.origin), { type: "module", name: "pdf" });
  const quiet = {
    verbosity: 0,
    useWorkerFetch: false,
    isEvalSupported: false,
    disableFontFace: true,
    useSystemFonts: false,
  };
  const unused = {
    isOffscreenCanvasSupported: false,
    isImageDecoderSupported: false,
    enableXfa: false,
    useWasm: false,
  };
  try {
    return await getDocument({ data: bytes, ...quiet, ...unused }).promise;
  } catch (error) {
    throw explain(error);
  }
}

async function textOfPage(document: PDFDocumentProxy, number: number): Promise<string> {
  try {
    const page = await document.getPage(number);
    const content = await page.getTextContent();
    page.cleanup();
    return joinLines(linesOf(content.items));
  } catch (error) {
    throw explain(error);
  }
}

/** The lines of a page. A line in letters of another size begins or ends a heading, and is set apart by an empty one. */
function linesOf(items: TextContent["items"]): string {
  let text = "";
  let size = 0;
  for (const item of items) {
    if (!("str" in item)) continue;
    if (item.str.trim()) {
      if (text.endsWith("\n") && size && Math.abs(item.height - size) > 0.1 * size) text += "\n";
      size = item.height;
    }
    text += item.str + (item.hasEOL ? "\n" : "");
  }
  return text;
}

/** Lines as a page sets them become paragraphs: a word that was cut at a line's end is whole again. */
export function joinLines(text: string): string {
  const join = (lines: string) =>
    lines
      .replace(/(\p{Ll})-\n(?=\p{Ll})/gu, "$1")
      .replace(/\s+/g, " ")
      .trim();
  return text
    .split(/\n[^\S\n]*\n/)
    .map(join)
    .filter(Boolean)
    .join("\n\n");
}

async function titleOf(document: PDFDocumentProxy): Promise<string> {
  const { info } = await document.getMetadata();
  const title = (info as { Title?: unknown }).Title;
  return typeof title === "string" ? title.trim().slice(0, 200) : "";
}

function explain(error: unknown): Error {
  if (error instanceof UnreadableError) return error;
  return new UnreadableError((error as { name?: unknown } | null)?.name === "PasswordException" ? LOCKED : BROKEN, {
    cause: error,
  });
}
