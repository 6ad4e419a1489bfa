// Bytes of a document as text: which kind it is, its characters, and for HTML its words without running or loading anything. Pure; runs in
// a worker. PDF is in `pdf.ts`, tables are in `tables.ts`; what the server reads is in `office.ts`.

/** What the server reads, because a browser cannot. */
export type OfficeKind = "word" | "slides" | "sheet" | "mail" | "book" | "records" | "image";
export type DocumentKind = "pdf" | "text" | "markdown" | "html" | "table" | OfficeKind;

/** What keeps a document from being read, as a sentence for the person. */
export class UnreadableError extends Error {
  override name = "UnreadableError";
}

export const MAX_FILE_BYTES = 50_000_000;
/** About 4,000 passages. */
export const MAX_TEXT_CHARS = 2_000_000;

const NOT_TEXT =
  "This is not a document that can be read here. PDF, Word, Excel, PowerPoint, EPUB, mail, tables, text, Markdown, HTML and images are.";
const OTHER_OFFICE = "Files of this kind cannot be read. Open it, save it as .docx, .xlsx, .pptx or PDF, and add that.";

export function kindOf(name: string, bytes: Uint8Array): DocumentKind {
  // A PDF may begin with a few foreign bytes.
  if (ascii(bytes.subarray(0, 1_024)).includes("%PDF-")) return "pdf";
  if (/\.pdf$/i.test(name))
    throw new UnreadableError(
      "This file is called a PDF and is none, or it is damaged. Open it elsewhere and save it again.",
    );
  if (/\.x?html?$/i.test(name)) return "html";
  if (/\.(md|markdown|mdx)$/i.test(name)) return "markdown";
  if (/\.(csv|tsv|tab)$/i.test(name)) return "table";
  if (/\.(doc|xls|ppt|xlsb|odt|ods|odp|rtf|msg|pages|numbers|key)$/i.test(name))
    throw new UnreadableError(OTHER_OFFICE);
  return "text";
}

/** UTF-8, or what its first bytes or an HTML page say; else what old Western files are in. */
export function decode(bytes: Uint8Array, isHtml = false): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  if (bytes.subarray(0, 8_192).includes(0)) throw new UnreadableError(NOT_TEXT);
  const named = isHtml
    ? /<meta[^>]{0,200}charset\s*=\s*["']?([\w-]{2,40})/i.exec(ascii(bytes.subarray(0, 2_048)))?.[1]
    : undefined;
  for (const encoding of [named, "utf-8"]) {
    try {
      if (encoding) return new TextDecoder(encoding, { fatal: true }).decode(bytes);
    } catch (error) {
      // Not in that encoding, or there is none of that name: the next one is tried.
      if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    }
  }
  return new TextDecoder("windows-1252").decode(bytes);
}

/** As it is kept: no half characters, no control signs, one kind of line end. */
export function tidy(text: string): string {
  const tidied = text
    .replace(/\r\n?/g, "\n")
    .replace(/\p{Surrogate}/gu, "\ufffd")

    .replace(/[\u0000-\u0008\u000b\u000e-\u001f\u007f\ufeff\u00ad]/g, "")
    .replace(/\f/g, "\n\n");
  if (tidied.length > MAX_TEXT_CHARS)
    throw new UnreadableError(
      `This document has ${tidied.length.toLocaleString("en")} characters; at most ${MAX_TEXT_CHARS.toLocaleString("en")} can be kept of one. Split it, and add the parts that you need.`,
    );
  return tidied;
}

export function titleOfMarkdown(text: string): string {
  return /^#\s+(.{1,200})$/m.exec(text.slice(0, 4_000))?.[1]?.trim() ?? "";
}

const SKIPPED = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "iframe",
  "object",
  "math",
  "select",
  "textarea",
]);
const BREAKS =
  /^(address|article|aside|blockquote|body|br|dd|div|dl|dt|figcaption|figure|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|table|tbody|td|th|thead|tr|ul)$/;
const PARAGRAPHS = /^(article|blockquote|dl|figure|h[1-6]|ol|p|pre|section|table|ul)$/;
const NAME = /(\/?)([a-zA-Z][^\s/>]{0,40})/y;

/** The words of a page and its title. Nothing of it is run, shown or loaded: it never becomes a document. */
export function readHtml(html: string): { title: string; text: string } {
  const parts: string[] = [];
  const ends = new TagEnds(html);
  let title = "";
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    parts.push(html.slice(at, open === -1 ? html.length : open).replace(/\s+/g, " "));
    if (open === -1) break;
    at = skipUnseen(html, open);
    if (at > open) continue;
    NAME.lastIndex = open + 1;
    const tag = NAME.exec(html);
    const end = tag ? ends.after(NAME.lastIndex) : -1;
    if (!tag || end === -1) {
      parts.push("<");
      at = open + 1;
      continue;
    }
    const name = tag[2]!.toLowerCase();
    at = end;
    if (!tag[1] && (SKIPPED.has(name) || name === "title")) {
      const close = closingOf(html, name, at);
      if (name === "title" && !title)
        title = decodeEntities(html.slice(at, Math.min(close.from, at + 1_000)))
          .replace(/\s+/g, " ")
          .trim();
      at = close.after;
    } else if (BREAKS.test(name)) parts.push(PARAGRAPHS.test(name) ? "\n\n" : "\n");
  }
  const text = decodeEntities(parts.join(""))
    .replace(/[^\S\n]+/g, " ")
    .replace(/ ?\n ?/g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
  return { title: title.slice(0, 200), text };
}

/** Where tags end: a ">" outside of quotes. A sign that was looked for in vain is not looked for again, so a hostile page takes no longer. */
class TagEnds {
  private readonly missing = new Set<string>();

  constructor(private readonly html: string) {}

  /** Behind the tag; -1: it has no end. */
  after(from: number): number {
    let end = this.find(">", from);
    for (let at = from; end !== -1 && at < end; at++) {
      const sign = this.html[at]!;
      const close = sign === '"' || sign === "'" ? this.find(sign, at + 1) : -1;
      if (close === -1) continue;
      at = close;
      if (close > end) end = this.find(">", close);
    }
    return end === -1 ? -1 : end + 1;
  }

  private find(sign: string, from: number): number {
    const at = this.missing.has(sign) ? -1 : this.html.indexOf(sign, from);
    if (at === -1) this.missing.add(sign);
    return at;
  }
}

/** Behind a comment, a doctype or a processing instruction that begins here; here, where none does. */
function skipUnseen(html: string, at: number): number {
  const close = html.startsWith("<!--", at) ? "-->" : html[at + 1] === "!" || html[at + 1] === "?" ? ">" : "";
  if (!close) return at;
  const end = html.indexOf(close, at + 2);
  return end === -1 ? html.length : end + close.length;
}

function closingOf(html: string, name: string, at: number): { from: number; after: number } {
  const closing = new RegExp(`</${name}[^>]{0,200}>`, "gi");
  closing.lastIndex = at;
  const found = closing.exec(html);
  return found ? { from: found.index, after: closing.lastIndex } : { from: html.length, after: html.length };
}

const ENTITIES: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  shy: "",
  ensp: " ",
  emsp: " ",
  thinsp: " ",
  zwnj: "",
  zwj: "",
  ndash: "–",
  mdash: "—",
  hellip: "…",
  lsquo: "‘",
  rsquo: "’",
  sbquo: "‚",
  ldquo: "“",
  rdquo: "”",
  bdquo: "„",
  laquo: "«",
  raquo: "»",
  copy: "©",
  reg: "®",
  trade: "™",
  deg: "°",
  plusmn: "±",
  times: "×",
  divide: "÷",
  frac12: "½",
  frac14: "¼",
  frac34: "¾",
  sup1: "¹",
  sup2: "²",
  sup3: "³",
  euro: "€",
  pound: "£",
  yen: "¥",
  cent: "¢",
  sect: "§",
  para: "¶",
  middot: "·",
  bull: "•",
  micro: "µ",
  ordm: "º",
  ordf: "ª",
  iexcl: "¡",
  iquest: "¿",
  Agrave: "À",
  Aacute: "Á",
  Acirc: "Â",
  Atilde: "Ã",
  Auml: "Ä",
  Aring: "Å",
  AElig: "Æ",
  Ccedil: "Ç",
  Egrave: "È",
  Eacute: "É",
  Ecirc: "Ê",
  Euml: "Ë",
  Igrave: "Ì",
  Iacute: "Í",
  Icirc: "Î",
  Iuml: "Ï",
  Ntilde: "Ñ",
  Ograve: "Ò",
  Oacute: "Ó",
  Ocirc: "Ô",
  Otilde: "Õ",
  Ouml: "Ö",
  Oslash: "Ø",
  Ugrave: "Ù",
  Uacute: "Ú",
  Ucirc: "Û",
  Uuml: "Ü",
  szlig: "ß",
  agrave: "à",
  aacute: "á",
  acirc: "â",
  atilde: "ã",
  auml: "ä",
  aring: "å",
  aelig: "æ",
  ccedil: "ç",
  egrave: "è",
  eacute: "é",
  ecirc: "ê",
  euml: "ë",
  igrave: "ì",
  iacute: "í",
  icirc: "î",
  iuml: "ï",
  ntilde: "ñ",
  ograve: "ò",
  oacute: "ó",
  ocirc: "ô",
  otilde: "õ",
  ouml: "ö",
  oslash: "ø",
  ugrave: "ù",
  uacute: "ú",
  ucirc: "û",
  uuml: "ü",
  yuml: "ÿ",
  oelig: "œ",
  OElig: "Œ",
  scaron: "š",
};

/** Those that texts have; a name that is not known stays as it is. */
export function decodeEntities(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]\w{1,15}));/g,
    (whole, decimal, hexadecimal, name) => {
      if (name) return ENTITIES[name] ?? whole;
      const code = decimal ? Number(decimal) : parseInt(hexadecimal, 16);
      return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
        ? String.fromCodePoint(code)
        : "\ufffd";
    },
  );
}

function ascii(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes.map((byte) => (byte < 128 ? byte : 63)));
}
