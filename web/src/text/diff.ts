/**
 * What changed between two texts, line by line, in bounded time.
 *
 *   trim what both begin and end with -> lines that occur once on both sides are anchors (patience) -> between anchors, Myers
 *
 * Myers gives up after MOST_EDITS: a stretch that has nothing in common is then shown as removed and added. Rows carry the sign as
 * text, because colour must never be the only mark.
 */

export type Sign = " " | "-" | "+";

export interface Row {
  sign: Sign;
  text: string;
  /** Line numbers, from 1, on the side where the line stands. */
  before?: number;
  after?: number;
  /** The part of a changed line that differs from its partner: [start, end). */
  mark?: [number, number];
  /** The last line of its side, which has no line break. */
  unended?: boolean;
  /** In place of a line: how many unchanged ones are left out here and not known. */
  gap?: number;
}

export type Block = { kind: "rows" | "fold"; at: number; rows: Row[] };

const MOST_EDITS = 400;
const LEAST_ALIKE = 0.3;
/** In place of a line's place on the other side. */
const ALONE = -1;
const NOWHERE = -1;
const SEVERAL = -2;

interface Side {
  lines: string[];
  ended: boolean;
}

export function diffLines(before: string, after: string): Row[] {
  const one = splitLines(before);
  const two = splitLines(after);
  const { a, b, count } = intern(one, two);
  const partners = matches(a, b, count);
  const rows: Row[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    while (i < a.length && partners[i] === ALONE) rows.push({ sign: "-", text: one.lines[i]!, before: ++i });
    const partner = i < a.length ? partners[i]! : b.length;
    while (j < partner) rows.push({ sign: "+", text: two.lines[j]!, after: ++j });
    if (i < a.length) rows.push({ sign: " ", text: one.lines[i]!, before: ++i, after: ++j });
  }
  markEnds(rows, one, two);
  markChangedParts(rows);
  return rows;
}

/** Unchanged stretches longer than twice the context become folds. */
export function foldRows(rows: Row[], context = 3): Block[] {
  const blocks: Block[] = [];
  let start = 0;
  while (start < rows.length) {
    const same = rows[start]!.sign === " ";
    let end = start;
    while (end < rows.length && (rows[end]!.sign === " ") === same) end++;
    if (!same) blocks.push({ kind: "rows", at: start, rows: rows.slice(start, end) });
    else pushUnchanged(blocks, rows, start, end, context);
    start = end;
  }
  return joinRows(blocks);
}

/** Blocks as they are drawn: folds that were opened are rows, and no piece is longer than `most` rows. */
export function cutBlocks(blocks: Block[], opened: readonly number[], most: number): Block[] {
  return blocks.flatMap((block) => {
    if (block.kind === "fold" && !opened.includes(block.at)) return [block];
    const starts = Array.from({ length: Math.ceil(block.rows.length / most) }, (_, at) => at * most);
    return starts.map((start): Block => ({
      kind: "rows",
      at: block.at + start,
      rows: block.rows.slice(start, start + most),
    }));
  });
}

/** The first blocks, with at least so many rows if there are as many. A fold is one row. */
export function firstBlocks(blocks: Block[], rows: number): Block[] {
  let seen = 0;
  const last = blocks.findIndex((block) => (seen += block.kind === "fold" ? 1 : block.rows.length) >= rows);
  return last === -1 ? blocks : blocks.slice(0, last + 1);
}

export function countChanges(rows: Row[]): { added: number; removed: number } {
  let [added, removed] = [0, 0];
  for (const row of rows) {
    if (row.sign === "+") added++;
    else if (row.sign === "-") removed++;
  }
  return { added, removed };
}

function pushUnchanged(blocks: Block[], rows: Row[], start: number, end: number, context: number): void {
  const head = start === 0 ? 0 : context;
  const tail = end === rows.length ? 0 : context;
  if (end - start <= head + tail + 1) {
    blocks.push({ kind: "rows", at: start, rows: rows.slice(start, end) });
    return;
  }
  if (head) blocks.push({ kind: "rows", at: start, rows: rows.slice(start, start + head) });
  blocks.push({ kind: "fold", at: start + head, rows: rows.slice(start + head, end - tail) });
  if (tail) blocks.push({ kind: "rows", at: end - tail, rows: rows.slice(end - tail, end) });
}

function joinRows(blocks: Block[]): Block[] {
  const joined: Block[] = [];
  for (const block of blocks) {
    const last = joined.at(-1);
    if (last?.kind === "rows" && block.kind === "rows") last.rows.push(...block.rows);
    else joined.push(block);
  }
  return joined;
}

function splitLines(text: string): Side {
  if (text === "") return { lines: [], ended: true };
  const lines = text.split("\n");
  const ended = lines.at(-1) === "";
  if (ended) lines.pop();
  return { lines, ended };
}

/** Lines as numbers below `count`: equal lines, equal numbers. A last line without its break differs from one with it. */
function intern(one: Side, two: Side): { a: Int32Array; b: Int32Array; count: number } {
  const known = new Map<string, number>();
  const number = (line: string) => {
    let found = known.get(line);
    if (found === undefined) known.set(line, (found = known.size));
    return found;
  };
  const numbers = ({ lines, ended }: Side) => {
    const found = new Int32Array(lines.length);
    lines.forEach((line, at) => (found[at] = number(at === lines.length - 1 && !ended ? `${line}\n` : line)));
    return found;
  };
  return { a: numbers(one), b: numbers(two), count: known.size };
}

type Range = [aStart: number, aEnd: number, bStart: number, bEnd: number];
type Pairs = readonly (readonly [number, number])[];

/** For each line of `a` its equal in `b`, in rising order, or ALONE. A stack of ranges instead of recursion: a hostile text must not exhaust the call stack. */
function matches(a: Int32Array, b: Int32Array, count: number): Int32Array {
  const partners = new Int32Array(a.length).fill(ALONE);
  const anchorsIn = anchorFinder(a, b, count);
  const todo: Range[] = [[0, a.length, 0, b.length]];
  while (todo.length) {
    const range = trim(a, b, todo.pop()!, partners);
    const [aStart, aEnd, bStart, bEnd] = range;
    const [n, m] = [aEnd - aStart, bEnd - bStart];
    if (!n || !m || (n === 1 && m === 1)) continue;
    const anchors = anchorsIn(range);
    if (!anchors.length) {
      for (const [i, j] of myers(a, b, range)) partners[i] = j;
      continue;
    }
    let [i, j] = [aStart, bStart];
    for (const [ai, bj] of anchors) {
      if (ai > i && bj > j) todo.push([i, ai, j, bj]);
      partners[ai] = bj;
      [i, j] = [ai + 1, bj + 1];
    }
    todo.push([i, aEnd, j, bEnd]);
  }
  return partners;
}

function trim(a: Int32Array, b: Int32Array, [aStart, aEnd, bStart, bEnd]: Range, partners: Int32Array): Range {
  while (aStart < aEnd && bStart < bEnd && a[aStart] === b[bStart]) partners[aStart++] = bStart++;
  while (aStart < aEnd && bStart < bEnd && a[aEnd - 1] === b[bEnd - 1]) partners[--aEnd] = --bEnd;
  return [aStart, aEnd, bStart, bEnd];
}

/** Lines that occur exactly once on both sides of a range, as far as they stand in the same order there. */
function anchorFinder(a: Int32Array, b: Int32Array, count: number): (range: Range) => Pairs {
  const [inA, inB] = [new Int32Array(count).fill(NOWHERE), new Int32Array(count).fill(NOWHERE)];
  const note = (places: Int32Array, lines: Int32Array, start: number, end: number) => {
    for (let at = start; at < end; at++) places[lines[at]!] = places[lines[at]!] === NOWHERE ? at : SEVERAL;
  };
  const forget = (places: Int32Array, lines: Int32Array, start: number, end: number) => {
    for (let at = start; at < end; at++) places[lines[at]!] = NOWHERE;
  };
  return ([aStart, aEnd, bStart, bEnd]) => {
    note(inA, a, aStart, aEnd);
    note(inB, b, bStart, bEnd);
    const pairs: [number, number][] = [];
    for (let at = aStart; at < aEnd; at++) if (inA[a[at]!] === at && inB[a[at]!]! >= 0) pairs.push([at, inB[a[at]!]!]);
    forget(inA, a, aStart, aEnd);
    forget(inB, b, bStart, bEnd);
    return longestRising(pairs);
  };
}

function longestRising(pairs: Pairs): Pairs {
  const tops: number[] = [];
  const before = new Int32Array(pairs.length);
  for (let index = 0; index < pairs.length; index++) {
    const b = pairs[index]![1];
    let [low, high] = [0, tops.length];
    if (high && pairs[tops[high - 1]!]![1] < b) low = high; // the usual case
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[tops[middle]!]![1] < b) low = middle + 1;
      else high = middle;
    }
    before[index] = low ? tops[low - 1]! : -1;
    tops[low] = index;
  }
  if (tops.length === pairs.length) return pairs;
  const chain: (readonly [number, number])[] = [];
  for (let at = tops.at(-1) ?? -1; at >= 0; at = before[at]!) chain.push(pairs[at]!);
  return chain.reverse();
}

/** Myers' greedy walk; nothing is matched if more than MOST_EDITS edits would be needed. */
function myers(a: Int32Array, b: Int32Array, [aStart, aEnd, bStart, bEnd]: Range): [number, number][] {
  const [n, m] = [aEnd - aStart, bEnd - bStart];
  const most = Math.min(n + m, MOST_EDITS);
  const reach = new Int32Array(2 * most + 3);
  const middle = most + 1;
  const trace: Int32Array[] = [];
  for (let d = 0; d <= most; d++) {
    trace.push(reach.slice(middle - d - 1, middle + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach[middle + k - 1]! < reach[middle + k + 1]!);
      let x = down ? reach[middle + k + 1]! : reach[middle + k - 1]! + 1;
      while (x < n && x - k < m && a[aStart + x] === b[bStart + x - k]) x++;
      reach[middle + k] = x;
      if (x >= n && x - k >= m) return walkBack(trace, n, m).map(([i, j]) => [aStart + i, bStart + j]);
    }
  }
  return [];
}

function walkBack(trace: Int32Array[], n: number, m: number): [number, number][] {
  const found: [number, number][] = [];
  let [x, y] = [n, m];
  for (let d = trace.length - 1; d >= 0; d--) {
    const reach = trace[d]!;
    const at = (k: number) => reach[k + d + 1]!;
    const k = x - y;
    const down = k === -d || (k !== d && at(k - 1) < at(k + 1));
    const fromK = down ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : at(fromK);
    const fromY = d === 0 ? 0 : fromX - fromK;
    while (x > fromX && y > fromY && x > 0 && y > 0) found.push([--x, --y]);
    [x, y] = [fromX, fromY];
  }
  return found;
}

function markEnds(rows: Row[], one: Side, two: Side): void {
  if (one.ended === two.ended) return;
  for (const row of rows) {
    if (!one.ended && row.before === one.lines.length) row.unended = true;
    if (!two.ended && row.after === two.lines.length) row.unended = true;
  }
}

/** The n-th removed line of a change is held against the n-th added one. */
export function markChangedParts(rows: Row[]): void {
  let at = 0;
  while (at < rows.length) {
    const start = at;
    while (rows[at]?.sign === "-") at++;
    const middle = at;
    while (rows[at]?.sign === "+") at++;
    for (let pair = 0; pair < Math.min(middle - start, at - middle); pair++)
      markPair(rows[start + pair]!, rows[middle + pair]!);
    if (at === start) at++;
  }
}

function markPair(one: Row, two: Row): void {
  const [a, b] = [one.text, two.text];
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a.charCodeAt(head) === b.charCodeAt(head)) head++;
  if (head && isHighSurrogate(a, head - 1)) head--;
  let tail = 0;
  while (tail < shorter - head && a.charCodeAt(a.length - 1 - tail) === b.charCodeAt(b.length - 1 - tail)) tail++;
  if (tail && isHighSurrogate(a, a.length - tail - 1)) tail--;
  if (head + tail < LEAST_ALIKE * Math.max(a.length, b.length)) return;
  if (head + tail < a.length) one.mark = [head, a.length - tail];
  if (head + tail < b.length) two.mark = [head, b.length - tail];
}

function isHighSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code <= 0xdbff;
}
