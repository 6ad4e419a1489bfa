// Markdown into a tree of plain data, which components draw as elements: no string ever becomes HTML, so markup in a text is just text.
//
//   text -> blocks (headings, paragraphs, lists, quotes, code, tables, rules) -> inline pieces (lib/inline.ts)
//
// Time grows with the length of the text, whatever the text; nesting ends at MAX_DEPTH, below which lines are plain paragraphs.
//
// A text that grows is not read again from its beginning: blocks that are closed stay as they are, and a long block that is still open is cut
// where the rest can be read by itself (`Split`): a paragraph between two pieces, a list between items, a table between rows, code between lines.

import { parseInline, piecesOf, type Inline } from "./inline";

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

/** Paragraphs are read in pieces of this length; a block that is longer is cut while it grows. */
const LONG = 1_000;

export function parseMarkdown(text: string): Block[] {
  return parseLines(unixLines(text).split("\n"), 0).map((placed) => placed.block);
}

interface Placed {
  block: Block;
  /** The line after its last one. */
  end: number;
  split?: () => Split | null;
}

/** Where an open block can be cut, and how to go on from there: `resume` gets the lines after the cut, and gives the whole block. */
interface Split {
  line: number;
  column: number;
  resume: Resume;
}
type Resume = (lines: string[]) => Placed;

/** A text that grows: what is closed is parsed once, and is the same objects ever after. */
export class GrowingMarkdown {
  private done: Block[] = [];
  /** What `done`, and the finished part of the open block, were read from. */
  private doneText = "";
  private resume: Resume | null = null;

  update(text: string): Block[] {
    const whole = unixLines(text);
    if (whole.slice(0, this.doneText.length) !== this.doneText)
      [this.done, this.doneText, this.resume] = [[], "", null];
    const rest = whole.slice(this.doneText.length);
    const placed = parseLines(rest.split("\n"), 0, this.resume);
    const last = placed.pop();
    if (!last) return [...this.done];
    const closedTo = placed.length ? offsetOfLine(rest, placed.at(-1)!.end) : 0;
    const split = rest.length - closedTo > LONG ? (last.split?.() ?? null) : null;
    for (const { block } of placed) this.done.push(block);
    this.doneText += rest.slice(0, split ? offsetOfLine(rest, split.line) + split.column : closedTo);
    if (split || placed.length) this.resume = split?.resume ?? null;
    return [...this.done, last.block];
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

function unixLines(text: string): string {
  return text.includes("\r") ? text.replaceAll("\r\n", "\n") : text;
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

function parseLines(lines: string[], depth: number, resume: Resume | null = null): Placed[] {
  const blocks: Placed[] = resume ? [resume(lines)] : [];
  let at = blocks[0]?.end ?? 0;
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
  if (heading)
    return {
      block: {
        t: "heading",
        level: heading[1]!.length,
        c: parseInline((heading[2] ?? "").replace(/[ \t]+#+[ \t]*$/, "")),
      },
      end: at + 1,
    };
  if (FENCE.test(line)) return parseFence(lines, at);
  if (RULE.test(line)) return { block: { t: "hr" }, end: at + 1 };
  if (depth < MAX_DEPTH && QUOTE.test(line)) return parseQuote(lines, at, depth);
  if (depth < MAX_DEPTH && ITEM.test(line)) return parseList(lines, at, depth);
  if (line.includes("|") && DIVIDER.test(lines[at + 1] ?? "") && lines[at + 1]!.includes("-"))
    return parseTable(lines, at);
  return parseParagraph(lines, at, depth);
}

function parseFence(lines: string[], at: number): Placed {
  const [, fence, lang] = FENCE.exec(lines[at]!)!;
  return parseCode({ fence: fence!, lang: lang ?? "", indent: lines[at]!.search(/\S/) }, lines, at + 1);
}

function parseCode(
  open: { fence: string; lang: string; indent: number },
  lines: string[],
  at: number,
  before?: string,
): Placed {
  const { fence, lang, indent } = open;
  const body: string[] = [];
  const textOf = (own: string[]) =>
    before === undefined ? own.join("\n") : own.length ? `${before}\n${own.join("\n")}` : before;
  const code = (isOpen: boolean): Block => ({ t: "code", lang, text: textOf(body), open: isOpen });
  let next = at;
  for (; next < lines.length; next++) {
    const line = lines[next]!.trim();
    if (line.length >= fence.length && line[0] === fence[0] && line === line[0]!.repeat(line.length)) {
      return { block: code(false), end: next + 1 };
    }
    body.push(lines[next]!.slice(Math.min(indent, Math.max(0, lines[next]!.search(/\S/)))));
  }
  const split = () => {
    const text = textOf(body.slice(0, -1));
    return next - at < 2
      ? null
      : { line: next - 1, column: 0, resume: (more: string[]) => parseCode(open, more, 0, text) };
  };
  return { block: code(true), end: next, split };
}

function parseQuote(lines: string[], at: number, depth: number, before: Block[] = []): Placed {
  const inside: string[] = [];
  let next = at;
  // A line without its mark still belongs to the quote's last paragraph.
  while (
    next < lines.length &&
    (QUOTE.test(lines[next]!) || (lines[next]!.trim() !== "" && inside.at(-1)?.trim() && !startsBlock(lines[next]!)))
  ) {
    inside.push(lines[next]!.replace(QUOTE, ""));
    next++;
  }
  const placed = parseLines(inside, depth + 1);
  const c = [...before, ...placed.map((each) => each.block)];
  const split = () =>
    placed.length < 2
      ? null
      : {
          line: at + placed.at(-2)!.end,
          column: 0,
          resume: (more: string[]) => parseQuote(more, 0, depth, c.slice(0, -1)),
        };
  return { block: { t: "quote", c }, end: next, split };
}

function parseList(lines: string[], at: number, depth: number): Placed {
  const first = ITEM.exec(lines[at]!)!;
  const ordered = first[3] !== undefined;
  return parseItems({ ordered, start: ordered ? Number(first[3]) : 1 }, lines, at, depth);
}

function parseItems(
  list: { ordered: boolean; start: number },
  lines: string[],
  at: number,
  depth: number,
  before: ListItem[] = [],
): Placed {
  const items = [...before];
  let [next, last] = [at, at];
  while (next < lines.length) {
    const marker = ITEM.exec(lines[next]!);
    if (!marker || (marker[3] !== undefined) !== list.ordered || RULE.test(lines[next]!)) break;
    const { item, end } = parseItem(lines, next, marker, depth);
    items.push(item);
    [next, last] = [end, next];
  }
  // A marker that has nothing behind it yet may turn out to be none, as in "-5".
  const split = () =>
    last === at || !ITEM.exec(lines[last]!)![5]
      ? null
      : { line: last, column: 0, resume: (more: string[]) => parseItems(list, more, 0, depth, items.slice(0, -1)) };
  return { block: { t: "list", ...list, items }, end: next, split };
}

function parseItem(
  lines: string[],
  at: number,
  marker: RegExpExecArray,
  depth: number,
): { item: ListItem; end: number } {
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
  return parseRows({ align, head: cells(lines[at]!).map(parseInline) }, lines, at + 2);
}

function parseRows(
  table: Pick<Extract<Block, { t: "table" }>, "align" | "head">,
  lines: string[],
  at: number,
  before: Inline[][][] = [],
): Placed {
  const rows = [...before];
  let next = at;
  for (; next < lines.length && lines[next]!.includes("|") && lines[next]!.trim() !== ""; next++) {
    const row = cells(lines[next]!).map(parseInline);
    rows.push(table.head.map((_, column) => row[column] ?? []));
  }
  const split = () =>
    next - at < 2
      ? null
      : { line: next - 1, column: 0, resume: (more: string[]) => parseRows(table, more, 0, rows.slice(0, -1)) };
  return { block: { t: "table", ...table, rows }, end: next, split };
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

function parseParagraph(lines: string[], at: number, depth: number, before: Inline[] = [], isInLine = false): Placed {
  let next = at;
  for (; next < lines.length; next++) {
    const line = lines[next]!;
    if (next === at && (isInLine || !before.length)) continue;
    if (line.trim() === "" || (depth < MAX_DEPTH && startsBlock(line))) break;
  }
  const pieces = piecesOf(lines.slice(at, next).join("\n"), LONG);
  const parts = pieces.map((piece, place) =>
    parseInline(trimLines(piece) + (place < pieces.length - 1 && / $/.test(piece) ? " " : "")),
  );
  const split = () => {
    if (pieces.length < 2) return null;
    const done = pieces.slice(0, -1).join("");
    const newlines = done.split("\n").length - 1;
    const column = done.length - (done.lastIndexOf("\n") + 1);
    const c = [...before, ...parts.slice(0, -1).flat()];
    return { line: at + newlines, column, resume: (more: string[]) => parseParagraph(more, 0, depth, c, column > 0) };
  };
  return { block: { t: "p", c: [...before, ...parts.flat()] }, end: next, split };
}

function trimLines(paragraph: string): string {
  const lines = paragraph.split("\n");
  return lines.map((line, at) => (at && endsHard(lines[at - 1]!) ? `\u0000${line.trim()}` : line.trim())).join("\n");
}

/** Two spaces or a backslash at the end of a line break it. The inline parser knows the break by the NUL after the newline. */
function endsHard(line: string): boolean {
  return line.endsWith("  ") || line.endsWith("\\");
}
