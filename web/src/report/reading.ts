/**
 * From the report's Markdown to blocks in which every sentence that is a claim is known as one.
 *
 * The server writes a claim's sentence as its words, its references, its mark and a note on its verdict; here the same pieces are
 * found again, in order. What is not found stays plain text: nothing of a report is ever hidden by a mismatch. What code appends (notes
 * on verdicts, sources, what was skipped and left out) is cut, because the page shows it itself. Sentences that were left out because they
 * differ from their source are put back where the writer had them, marked as such.
 */

import type { Claim, Quote, Report, Source } from "./evidence";

export interface Sentence {
  claim: Claim | null;
  /** Markdown of the line, references included. */
  text: string;
  /** Whether the check left it out of the report. */
  out?: boolean;
}

export interface Block {
  kind: "heading" | "paragraph" | "item" | "note" | "code";
  level: number;
  sentences: Sentence[];
}

const APPENDED = new Set(["sources", "what was skipped"]);
/** The level of a sentence, and what its source does not say. */
const NOTE = /^ \*\((?:not settled|not in its source|differs)(?:: [^()*\n]+)?\)\*/;
const REFERENCES = /^(?: ?\[\d{1,4}(?:, ?\d{1,4})*\])+/;
const LEFT_OUT =
  /^\*(?:One sentence was|\d+ sentences were) left out because the evidence does not support what was said\.\*$/;
/** How deep research cites: "[s1](address)". */
const LINKED = /\[(s\d{1,6})\](?:\([^()\s]*\))?/g;

export type Readable = Pick<Report, "report" | "claims" | "quotes" | "references">;

export function readReport(report: Readable): Block[] {
  const open = [...report.claims.filter((claim) => claim.in_report)];
  const blocks = blocksOf(numbered(report)).map((block) => ({
    kind: block.kind,
    level: block.level,
    sentences:
      block.kind === "code" || block.kind === "heading"
        ? [{ claim: null, text: block.text }]
        : sentencesOf(block.text, open),
  }));
  const put = putBack(blocks, report);
  return put ? blocks.filter((block) => !LEFT_OUT.test(block.sentences[0]?.text ?? "")) : blocks;
}

/** The report with every citation as a number. */
function numbered(report: Readable): string {
  return report.report.replace(LINKED, (all, id: string) => {
    const number = report.references.indexOf(id) + 1;
    return number ? `[${number}]` : all;
  });
}

/** Puts each sentence that differs behind the one that came before it in the draft. Returns whether there was a place for them. */
function putBack(blocks: Block[], report: Readable): boolean {
  const places = new Map<Claim, Sentence[]>();
  for (const block of blocks)
    for (const each of block.sentences) if (each.claim) places.set(each.claim, block.sentences);
  if (!places.size) return false;
  const numberOf = new Map(
    report.quotes.map((quote) => [quote.quote_id, report.references.indexOf(quote.source_id) + 1]),
  );
  let before: Claim | null = null;
  const waiting: Claim[] = [];
  const sentence = (claim: Claim): Sentence => {
    const numbers = [...new Set(claim.evidence.map((id) => numberOf.get(id) ?? 0))].filter(Boolean);
    const words = claim.text.replace(/[.!?…]+$/, "");
    const text = numbers.length ? `${words} [${numbers.join(", ")}]${claim.text.slice(words.length)}` : claim.text;
    return { claim, text, out: true };
  };
  for (const claim of report.claims) {
    if (places.has(claim)) {
      if (waiting.length) places.get(claim)!.unshift(...waiting.splice(0).map(sentence));
      before = claim;
    } else if (!claim.in_report && claim.verdict === "contradicted") {
      const list = before && places.get(before);
      if (!list) waiting.push(claim);
      else {
        list.splice(list.findIndex((each) => each.claim === before) + 1, 0, sentence(claim));
        places.set(claim, list);
        before = claim;
      }
    }
  }
  return true;
}

/** What a ceiling or a refusal left out: the report says it in a section that code wrote. */
export function skippedIn(markdown: string): string[] {
  const section = /(?:^|\n)## What was skipped\n+([\s\S]*?)(?=\n## |$)/.exec(markdown)?.[1] ?? "";
  return section.split("\n").flatMap((line) => /^- (.+)$/.exec(line.trim())?.[1] ?? []);
}

/** The quotes a claim rests on, with their sources and the numbers these have in the report. */
export function evidenceOf(
  report: Report,
  claim: Claim,
): { quote: Quote; source: Source | null; number: number | null }[] {
  return claim.evidence.flatMap((id) => {
    const quote = report.quotes.find((each) => each.quote_id === id);
    if (!quote) return [];
    const number = report.references.indexOf(quote.source_id) + 1;
    return [
      {
        quote,
        source: report.sources.find((each) => each.source_id === quote.source_id) ?? null,
        number: number || null,
      },
    ];
  });
}

export function claimsOf(report: Report, source: Source): Claim[] {
  const own = new Set(
    report.quotes.filter((quote) => quote.source_id === source.source_id).map((quote) => quote.quote_id),
  );
  return report.claims.filter((claim) => claim.evidence.some((id) => own.has(id)));
}

/** Offsets of a stored text count code points; a string counts code units. */
export function codeUnits(text: string, start: number, end: number): [number, number] {
  let [at, points] = [0, 0];
  const goTo = (wanted: number) => {
    for (; points < wanted && at < text.length; points++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
    return at;
  };
  const from = goTo(start);
  return [from, goTo(end)];
}

/** The quote in its text, with some of what stands around it. `fits` is false if the text does not say what the quote says. */
export function excerpt(
  text: string,
  quote: Quote,
  around: number,
): { before: string; quote: string; after: string; cut: [boolean, boolean]; fits: boolean } {
  const [from, to] = codeUnits(text, quote.start, quote.end);
  const [start, end] = [
    around < 0 ? 0 : wordStart(text, Math.max(0, from - around)),
    around < 0 ? text.length : wordEnd(text, Math.min(text.length, to + around)),
  ];
  return {
    before: text.slice(start, from),
    quote: text.slice(from, to),
    after: text.slice(to, end),
    cut: [start > 0, end < text.length],
    fits: text.slice(from, to) === quote.text,
  };
}

function wordStart(text: string, at: number): number {
  const space = at === 0 ? 0 : text.indexOf(" ", at) + 1;
  return space > 0 && space - at < 40 ? space : at;
}

function wordEnd(text: string, at: number): number {
  const space = at === text.length ? at : text.lastIndexOf(" ", at);
  return space > 0 && at - space < 40 ? space : at;
}

interface Raw {
  kind: Block["kind"];
  level: number;
  text: string;
}

function blocksOf(markdown: string): Raw[] {
  const blocks: Raw[] = [];
  let fenced: string[] | null = null;
  let open = false;
  for (const line of markdown.split("\n")) {
    if (/^\s*```/.test(line)) {
      if (fenced) blocks.push({ kind: "code", level: 0, text: fenced.join("\n") });
      fenced = fenced ? null : [];
      open = false;
      continue;
    }
    if (fenced) {
      fenced.push(line);
      continue;
    }
    const raw = readLine(line);
    if (!raw) {
      open = false;
      continue;
    }
    if (raw.kind === "heading" && raw.level === 2 && APPENDED.has(raw.text.toLowerCase())) break;
    const last = blocks.at(-1);
    const goesOn =
      open &&
      last &&
      (raw.kind === "paragraph" || (raw.kind === "note" && last.kind === "note")) &&
      last.kind !== "heading";
    if (goesOn) last.text += ` ${raw.text}`;
    else blocks.push(raw);
    open = raw.kind !== "heading";
  }
  if (fenced?.length) blocks.push({ kind: "code", level: 0, text: fenced.join("\n") });
  return blocks;
}

function readLine(line: string): Raw | null {
  const bare = line.trim();
  if (!bare || /^([-*_])\1\1+$/.test(bare)) return null;
  const heading = /^(#{1,6})\s+(.*)$/.exec(bare);
  if (heading) return { kind: "heading", level: heading[1]!.length, text: heading[2]! };
  const item = /^(?:[-*+]|\d{1,3}[.)])\s+(.*)$/.exec(bare);
  if (item) return { kind: "item", level: 0, text: item[1]! };
  if (bare.startsWith(">")) return { kind: "note", level: 0, text: bare.replace(/^>\s?/, "") };
  return { kind: "paragraph", level: 0, text: bare };
}

/** Cuts a block into claims and what stands between them. `open` are the claims not met yet; those found are taken from it. */
function sentencesOf(text: string, open: Claim[]): Sentence[] {
  const sentences: Sentence[] = [];
  let at = 0;
  const pushPlain = (end: number) => {
    if (end > at && text.slice(at, end).trim()) sentences.push({ claim: null, text: text.slice(at, end) });
  };
  for (;;) {
    const found = findNext(text, at, open);
    if (!found) break;
    pushPlain(found.start);
    sentences.push({ claim: found.claim, text: text.slice(found.start, found.end) });
    open.splice(open.indexOf(found.claim), 1);
    at = found.next;
  }
  pushPlain(text.length);
  return sentences;
}

/** The next claims only: a sentence that is said twice belongs to the claim whose turn it is. */
const LOOKAHEAD = 12;
const LONGEST_TAIL = 400;

interface Found {
  claim: Claim;
  start: number;
  end: number;
  /** Where the text goes on, behind the note on the verdict. */
  next: number;
}

function findNext(text: string, at: number, open: readonly Claim[]): Found | null {
  let best: Found | null = null;
  for (const claim of open.slice(0, LOOKAHEAD)) {
    const words = claim.text.replace(/[.!?…]+$/, "");
    const start = words ? text.indexOf(words, at) : -1;
    if (start < 0 || (best && start >= best.start)) continue;
    const after = start + words.length;
    const [end, next] = tailOf(text.slice(after, after + LONGEST_TAIL));
    best = { claim, start, end: after + end, next: after + next };
  }
  return best;
}

/** Where the references and the mark behind a claim's words end, and where the note on its verdict does. */
function tailOf(rest: string): [number, number] {
  let length = REFERENCES.exec(rest)?.[0].length ?? 0;
  length += /^[.!?…]*/.exec(rest.slice(length))![0].length;
  return [length, length + (NOTE.exec(rest.slice(length))?.[0].length ?? 0)];
}
