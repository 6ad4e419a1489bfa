// Markdown into a tree of plain data, which components draw as elements: no string ever becomes HTML, so markup in a text is just text.
//
//   text -> blocks (headings, paragraphs, lists, quotes, code, tables, rules) -> inline pieces (lib/inline.ts)
//
// Time grows with the length of the text, whatever the text; nesting ends at MAX_DEPTH, below which lines are plain paragraphs.

import { parseInline, type Inline } from "./inline";

export type Block =
  | { t: "heading"; level: number; c: Inline[] }
  | { t: "p"; c: Inline[] }
  | { t: "code"; lang: string; text: string; open: boolean }
  | { t: "quote"; c: Block[] }
  | { t: "list"; ordered: boolean; start: number; items: ListItem[] }
  | { t: "table"; align: ("left" | "right" | "center" | null)[]; head: Inline[][]; rows: Inline[][][] }
  | { t: "hr" };

export interface ListItem {
  checked: boolean | null;
  c: Block[];
}

const MAX_DEPTH = 8;
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const ITEM = /^( {0,3})(?:([-*+])|(\d{1,9})[.)])(?:( +)(.*))?$/;
const QUOTE = /^ {0,3}> ?/;
const DIVIDER = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const TASK = /^\[([ xX])\][ \t]+/;

export function parseMarkdown(text: string): Block[] {
  return parseLines(splitLines(text), 0).map((placed) => placed.block);
}

interface Placed {
  block: Block;
  /** The line after its last one. */
  end: number;
}

/** A text that grows: blocks before the last one are parsed once, and are the same objects ever after. */
export class GrowingMarkdown {
  private done: Block[] = [];
  private doneText = "";

  update(text: string): Block[] {
    if (!text.startsWith(this.doneText)) {
      this.done = [];
      this.doneText = "";
    }
    const rest = text.slice(this.doneText.length);
    const lines = splitLines(rest);
    const placed = parseLines(lines, 0);
    if (placed.length < 2) return [...this.done, ...placed.map((each) => each.block)];
    const closed = placed.slice(0, -1);
    this.done = [...this.done, ...closed.map((each) => each.block)];
    this.doneText += rest.slice(0, offsetOfLine(rest, closed.at(-1)!.end));
    return [...this.done, placed.at(-1)!.block];
  }
}

/** Levels for h3 and below that never skip one, whatever the text does: people who listen find their way by them. */
export function headingLevels(blocks: readonly Block[]): Map<Block, number> {
  const levels = new Map<Block, number>();
  let before = 2;
  for (const block of blocks) {
    if (block.t !== "heading") continue;
    before = Math.min(block.level + 2, before + 1, 6);
    levels.set(block, before);
  }
  return levels;
}

function splitLines(text: string): string[] {
  return text.replaceAll("\r\n", "\n").split("\n");
}

function offsetOfLine(text: string, line: number): number {
  let at = 0;
  for (let seen = 0; seen < line; seen++) {
    const next = text.indexOf("\n", at);
    if (next === -1) return text.length;
    at = next + 1;
  }
  return at;
}

function parseLines(lines: string[], depth: number): Placed[] {
  const blocks: Placed[] = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at]!.trim() === "") {
      at++;
      continue;
    }
    const placed = parseOne(lines, at, depth);
    blocks.push(placed);
    at = placed.end;
  }
  return blocks;
}

function parseOne(lines: string[], at: number, depth: number): Placed {
  const line = lines[at]!;
  const heading = HEADING.exec(line);
  if (heading) return { block: { t: "heading", level: heading[1]!.length, c: parseInline((heading[2] ?? "").replace(/[ \t]+#+[ \t]*$/, "")) }, end: at + 1 };
  if (FENCE.test(line)) return parseFence(lines, at);
  if (RULE.test(line)) return { block: { t: "hr" }, end: at + 1 };
  if (depth < MAX_DEPTH && QUOTE.test(line)) return parseQuote(lines, at, depth);
  if (depth < MAX_DEPTH && ITEM.test(line)) return parseList(lines, at, depth);
  if (line.includes("|") && DIVIDER.test(lines[at + 1] ?? "") && lines[at + 1]!.includes("-")) return parseTable(lines, at);
  return parseParagraph(lines, at, depth);
}

function parseFence(lines: string[], at: number): Placed {
  const [, fence, lang] = FENCE.exec(lines[at]!)!;
  const indent = lines[at]!.search(/\S/);
  const body: string[] = [];
  let next = at + 1;
  for (; next < lines.length; next++) {
    const line = lines[next]!.trim();
    if (line.length >= fence!.length && line[0] === fence![0] && line === line[0]!.repeat(line.length)) {
      return { block: { t: "code", lang: lang ?? "", text: body.join("\n"), open: false }, end: next + 1 };
    }
    body.push(lines[next]!.slice(Math.min(indent, Math.max(0, lines[next]!.search(/\S/)))));
  }
  return { block: { t: "code", lang: lang ?? "", text: body.join("\n"), open: true }, end: next };
}

function parseQuote(lines: string[], at: number, depth: number): Placed {
  const inside: string[] = [];
  let next = at;
  // A line without its mark still belongs to the quote's last paragraph.
  while (next < lines.length && (QUOTE.test(lines[next]!) || (lines[next]!.trim() !== "" && inside.at(-1)?.trim() && !startsBlock(lines[next]!)))) {
    inside.push(lines[next]!.replace(QUOTE, ""));
    next++;
  }
  return { block: { t: "quote", c: parseLines(inside, depth + 1).map((each) => each.block) }, end: next };
}

function parseList(lines: string[], at: number, depth: number): Placed {
  const first = ITEM.exec(lines[at]!)!;
  const ordered = first[3] !== undefined;
  const items: ListItem[] = [];
  let next = at;
  while (next < lines.length) {
    const marker = ITEM.exec(lines[next]!);
    if (!marker || (marker[3] !== undefined) !== ordered || RULE.test(lines[next]!)) break;
    const { item, end } = parseItem(lines, next, marker, depth);
    items.push(item);
    next = end;
  }
  return { block: { t: "list", ordered, start: ordered ? Number(first[3]) : 1, items }, end: next };
}

function parseItem(lines: string[], at: number, marker: RegExpExecArray, depth: number): { item: ListItem; end: number } {
  const mark = marker[1]!.length + (marker[2] ?? `${marker[3]!}.`).length;
  const spaces = marker[4]?.length ?? 1;
  const content = mark + (spaces > 4 ? 1 : spaces);
  let text = (spaces > 4 ? marker[4]!.slice(1) : "") + (marker[5] ?? "");
  const task = TASK.exec(text);
  if (task) text = text.slice(task[0].length);
  const inside = [text];
  let next = at + 1;
  let end = next;
  for (; next < lines.length; next++) {
    const line = lines[next]!;
    if (line.trim() === "") {
      inside.push("");
      continue;
    }
    const indent = line.search(/\S/);
    const continues = indent >= content || (inside.at(-1) !== "" && !startsBlock(line));
    if (!continues) break;
    inside.push(line.slice(Math.min(indent, content)));
    end = next + 1;
  }
  const blocks = parseLines(inside, depth + 1).map((each) => each.block);
  // Blank lines before another item belong to the list; those at its end do not.
  const upTo = next < lines.length && ITEM.test(lines[next]!) ? next : end;
  return { item: { checked: task ? task[1] !== " " : null, c: blocks }, end: upTo };
}

function parseTable(lines: string[], at: number): Placed {
  const align = cells(lines[at + 1]!).map((cell) => {
    const left = cell.startsWith(":");
    const right = cell.endsWith(":");
    return left && right ? "center" : right ? "right" : left ? "left" : null;
  });
  const head = cells(lines[at]!).map(parseInline);
  const rows: Inline[][][] = [];
  let next = at + 2;
  for (; next < lines.length && lines[next]!.includes("|") && lines[next]!.trim() !== ""; next++) {
    const row = cells(lines[next]!).map(parseInline);
    rows.push(head.map((_, column) => row[column] ?? []));
  }
  return { block: { t: "table", align, head, rows }, end: next };
}

function cells(line: string): string[] {
  const row = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  const found: string[] = [];
  let cell = "";
  for (let at = 0; at < row.length; at++) {
    if (row[at] === "\\" && row[at + 1] === "|") {
      cell += "|";
      at++;
    } else if (row[at] === "|") {
      found.push(cell.trim());
      cell = "";
    } else cell += row[at];
  }
  found.push(cell.trim());
  return found;
}

function startsBlock(line: string): boolean {
  return HEADING.test(line) || FENCE.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);
}

function parseParagraph(lines: string[], at: number, depth: number): Placed {
  const inside = [lines[at]!.trim()];
  let next = at + 1;
  for (; next < lines.length; next++) {
    const line = lines[next]!;
    if (line.trim() === "" || (depth < MAX_DEPTH && startsBlock(line))) break;
    inside.push(endsHard(lines[next - 1]!) ? `\u0000${line.trim()}` : line.trim());
  }
  return { block: { t: "p", c: parseInline(inside.join("\n")) }, end: next };
}

/** Two spaces or a backslash at the end of a line break it. The inline parser knows the break by the NUL after the newline. */
function endsHard(line: string): boolean {
  return line.endsWith("  ") || line.endsWith("\\");
}
