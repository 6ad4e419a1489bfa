// A text in passages of about 500 characters that end where a sentence does, each a little over 80 characters into the one before. No passage
// goes over a heading, or from one page, slide, sheet or message into the next; a row of a table is never cut, and repeats nothing. Offsets
// are those of the text as it is kept: `text.slice(start, end)` is the passage, always. Pure.

import { mayShare, partsBetween, placeOf, type Part } from "./parts";

export interface Passage {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** The headings above it, "Results > Costs", for the search; no part of the words that are quoted. */
  readonly section?: string;
  /** "page 3", "sheet Sales, A5:F9". */
  readonly place?: string;
  /** Where several rows or lines stand in it. */
  readonly parts?: readonly Part[];
}

export const PASSAGE_CHARS = 500;
export const OVERLAP_CHARS = 80;
/** A row that is longer than this is cut after all: the server takes no longer excerpt. */
export const ROW_CHARS = 3_500;
/** A sentence that is no longer than this is repeated whole where passages meet; of a longer one its last words are. */
const WHOLE_SENTENCE_CHARS = 2 * OVERLAP_CHARS;
const SECTION_CHARS = 120;

const SENTENCE_END = /[.!?…]+["'”’»)\]]*\s+|[。！？]+[」』”’）]*\s*|\n[ \t]*\n\s*/g;
const PARAGRAPH_END = /\n[ \t]*\n\s*/g;
const HEADING = /^(#{1,6})[ \t]+(\S.*)$/gm;
/** "Header: value; Header: value": two cells at least. */
const ROW = /^[^\n:;]{1,100}: [^\n]*?; [^\n:;]{1,100}: [^\n]+$/;

export interface Form {
  readonly parts?: readonly Part[];
  /** Whether lines that begin with "# " are headings. */
  readonly headings?: boolean;
}

export function cutIntoPassages(text: string, { parts = [], headings = false }: Form = {}): Passage[] {
  const found = headings ? headingsOf(text) : [];
  const borders = [0, ...partBorders(parts), ...headingBorders(text, found), text.length].sort((one, two) => one - two);
  // The only page of a document needs no name.
  const named = parts.length === 1 && /^page /.test(parts[0]!.name) ? [] : parts;
  const sections = new Sections(found);
  return borders
    .slice(1)
    .flatMap((end, n) => (end > borders[n]! ? cutSpan(text, borders[n]!, end) : []))
    .map((passage) => describe(passage, sections.above(passage.start), named));
}

function describe(passage: Passage, section: string, parts: readonly Part[]): Passage {
  const touched = parts.length ? partsBetween(parts, passage.start, passage.end) : [];
  return {
    ...passage,
    ...(section ? { section } : {}),
    ...(touched.length ? { place: placeOf(touched, passage.start, passage.end) } : {}),
    ...(touched.length > 1 ? { parts: touched } : {}),
  };
}

/** Where a part begins that shares no passage with the one before. */
const partBorders = (parts: readonly Part[]): number[] =>
  parts.filter((part, n) => n > 0 && !mayShare(parts[n - 1]!, part)).map((part) => part.start);

interface Heading extends Span {
  readonly level: number;
  readonly title: string;
}

function headingsOf(text: string): Heading[] {
  return [...text.matchAll(HEADING)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
    level: match[1]!.length,
    title: match[2]!.trim(),
  }));
}

/** A heading begins a passage, unless nothing but headings stands before it. */
function headingBorders(text: string, headings: readonly Heading[]): number[] {
  return headings
    .filter((heading, n) => text.slice(n ? headings[n - 1]!.end : 0, heading.start).trim() || n === 0)
    .map((heading) => heading.start);
}

/** The headings above a place, outermost first. Places are asked for in their order. */
class Sections {
  private readonly open: Heading[] = [];
  private next = 0;

  constructor(private readonly headings: readonly Heading[]) {}

  above(place: number): string {
    for (; this.headings[this.next] && this.headings[this.next]!.start < place; this.next++) {
      const heading = this.headings[this.next]!;
      while (this.open.length && this.open.at(-1)!.level >= heading.level) this.open.pop();
      this.open.push(heading);
    }
    const own = this.headings[this.next];
    const open = own?.start === place ? this.open.filter((heading) => heading.level < own.level) : this.open;
    return open
      .map((heading) => heading.title)
      .join(" > ")
      .slice(-SECTION_CHARS);
  }
}

interface Span {
  readonly start: number;
  readonly end: number;
  /** A row of a table. */
  readonly isRow?: boolean;
}

function cutSpan(text: string, begins: number, ends: number): Passage[] {
  const pieces = piecesOf(text, begins, ends);
  const found: Passage[] = [];
  let from = 0;
  let start = pieces[0]?.start ?? 0;
  while (from < pieces.length) {
    let last = from;
    while (last + 1 < pieces.length && pieces[last + 1]!.end - start <= PASSAGE_CHARS) last++;
    const passage = trimmed(text, start, pieces[last]!.end);
    if (passage) found.push(passage);
    from = last + 1;
    start = from < pieces.length ? overlapStart(text, start, pieces[last]!, pieces[from]!) : ends;
  }
  return found;
}

/** Sentences and rows. They tile the text. */
function piecesOf(text: string, begins: number, ends: number): Span[] {
  const found: Span[] = [];
  let start = begins;
  PARAGRAPH_END.lastIndex = begins;
  for (;;) {
    const match = PARAGRAPH_END.exec(text);
    const end = match && match.index < ends ? Math.min(ends, match.index + match[0].length) : ends;
    const isRow = end - start <= ROW_CHARS && ROW.test(text.slice(start, end).trim());
    if (isRow) found.push({ start, end, isRow });
    else
      for (const sentence of sentencesOf(text.slice(start, end)))
        found.push({ start: start + sentence.start, end: start + sentence.end });
    start = end;
    if (end >= ends) return found;
  }
}

/** One that is too long for a passage is cut between words, or, where there are none, anywhere but inside of a character. */
function sentencesOf(text: string): Span[] {
  const found: Span[] = [];
  let start = 0;
  const cutUpTo = (end: number) => {
    while (end - start > PASSAGE_CHARS) {
      const cut = wordBorder(text, start + PASSAGE_CHARS / 2, start + PASSAGE_CHARS - WHOLE_SENTENCE_CHARS);
      found.push({ start, end: cut });
      start = cut;
    }
    if (end > start) found.push({ start, end });
    start = end;
  };
  for (const match of text.matchAll(SENTENCE_END)) cutUpTo(match.index + match[0].length);
  cutUpTo(text.length);
  return found;
}

/** The last place between two words in a range; its end, where there is none. */
function wordBorder(text: string, least: number, most: number): number {
  for (let at = most; at > least; at--) if (/\s/.test(text[at - 1]!) && /\S/.test(text[at] ?? " ")) return at;
  return isInsideCharacter(text, most) ? most - 1 : most;
}

function isInsideCharacter(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}

function overlapStart(text: string, before: number, last: Span, next: Span): number {
  if (last.isRow || next.isRow) return next.start;
  // What does not fit beside the overlap begins a passage without it.
  const room = PASSAGE_CHARS - (next.end - next.start);
  const length = last.end - last.start;
  if (length <= Math.min(room, WHOLE_SENTENCE_CHARS)) return Math.max(last.start, before + 1);
  if (room < OVERLAP_CHARS) return next.start;
  for (let at = next.start - OVERLAP_CHARS; at < next.start; at++)
    if (at > before && /\s/.test(text[at - 1]!) && /\S/.test(text[at]!)) return at;
  return next.start;
}

function trimmed(text: string, start: number, end: number): Passage | null {
  while (start < end && /\s/.test(text[start]!)) start++;
  while (end > start && /\s/.test(text[end - 1]!)) end--;
  return end > start ? { start, end, text: text.slice(start, end) } : null;
}
