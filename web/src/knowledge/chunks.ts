// A text in passages of about 500 characters that end where a sentence does, each a little over 80 characters into the one before. Offsets
// are those of the text as it is kept: `text.slice(start, end)` is the passage, always. Pure.

export interface Passage {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export const PASSAGE_CHARS = 500;
export const OVERLAP_CHARS = 80;
/** A sentence that is no longer than this is repeated whole where passages meet; of a longer one its last words are. */
const WHOLE_SENTENCE_CHARS = 2 * OVERLAP_CHARS;

const SENTENCE_END = /[.!?…]+["'”’»)\]]*\s+|[。！？]+[」』”’）]*\s*|\n[ \t]*\n\s*/g;

export function cutIntoPassages(text: string): Passage[] {
  const sentences = sentencesOf(text);
  const found: Passage[] = [];
  let from = 0;
  let start = sentences[0]?.start ?? 0;
  while (from < sentences.length) {
    let last = from;
    while (last + 1 < sentences.length && sentences[last + 1]!.end - start <= PASSAGE_CHARS) last++;
    const passage = trimmed(text, start, sentences[last]!.end);
    if (passage) found.push(passage);
    from = last + 1;
    start = from < sentences.length ? overlapStart(text, start, sentences[last]!, sentences[from]!) : text.length;
  }
  return found;
}

/** The same for a text whose pages begin at these places: no passage goes over the end of a page, so that each can name its own. */
export function cutPagesIntoPassages(text: string, pages: readonly number[]): Passage[] {
  return pages.flatMap((begins, n) =>
    cutIntoPassages(text.slice(begins, pages[n + 1] ?? text.length)).map(({ start, end, text: words }) => ({ start: begins + start, end: begins + end, text: words })),
  );
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** They tile the text. One that is too long for a passage is cut between words, or, where there are none, anywhere but inside of a character. */
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
  // What does not fit beside the overlap begins a passage without it.
  const room = PASSAGE_CHARS - (next.end - next.start);
  const length = last.end - last.start;
  if (length <= Math.min(room, WHOLE_SENTENCE_CHARS)) return Math.max(last.start, before + 1);
  if (room < OVERLAP_CHARS) return next.start;
  for (let at = next.start - OVERLAP_CHARS; at < next.start; at++) if (at > before && /\s/.test(text[at - 1]!) && /\S/.test(text[at]!)) return at;
  return next.start;
}

function trimmed(text: string, start: number, end: number): Passage | null {
  while (start < end && /\s/.test(text[start]!)) start++;
  while (end > start && /\s/.test(text[end - 1]!)) end--;
  return end > start ? { start, end, text: text.slice(start, end) } : null;
}
