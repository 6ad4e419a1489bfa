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

interface Side {
  lines: string[];
  ended: boolean;
}

export function diffLines(before: string, after: string): Row[] {
  const one = splitLines(before);
  const two = splitLines(after);
  const [a, b] = intern(one, two);
  const rows: Row[] = [];
  const keep = (i: number, j: number) => rows.push({ sign: " ", text: one.lines[i]!, before: i + 1, after: j + 1 });
  const remove = (i: number) => rows.push({ sign: "-", text: one.lines[i]!, before: i + 1 });
  const add = (j: number) => rows.push({ sign: "+", text: two.lines[j]!, after: j + 1 });
  let [i, j] = [0, 0];
  const goTo = (ni: number, nj: number) => {
    while (i < ni) remove(i++);
    while (j < nj) add(j++);
  };
  for (const [mi, mj] of matches(a, b)) {
    goTo(mi, mj);
    keep(i++, j++);
  }
  goTo(a.length, b.length);
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

/** Lines as numbers: equal lines, equal numbers. A last line without its break differs from one with it. */
function intern(one: Side, two: Side): [number[], number[]] {
  const known = new Map<string, number>();
  const number = (line: string) => {
    let found = known.get(line);
    if (found === undefined) known.set(line, (found = known.size));
    return found;
  };
  const numbers = ({ lines, ended }: Side) =>
    lines.map((line, at) => number(at === lines.length - 1 && !ended ? `${line}\n` : line));
  return [numbers(one), numbers(two)];
}

type Range = [aStart: number, aEnd: number, bStart: number, bEnd: number];

/** Pairs of equal lines, in order. A stack of ranges instead of recursion: a hostile text must not exhaust the call stack. */
function matches(a: number[], b: number[]): [number, number][] {
  const found: [number, number][] = [];
  const todo: Range[] = [[0, a.length, 0, b.length]];
  while (todo.length) {
    const range = trim(a, b, todo.pop()!, found);
    const [aStart, aEnd, bStart, bEnd] = range;
    if (aStart === aEnd || bStart === bEnd) continue;
    const anchors = uniqueAnchors(a, b, range);
    if (!anchors.length) {
      found.push(...myers(a, b, range));
      continue;
    }
    let [i, j] = [aStart, bStart];
    for (const [ai, bj] of anchors) {
      todo.push([i, ai, j, bj]);
      found.push([ai, bj]);
      [i, j] = [ai + 1, bj + 1];
    }
    todo.push([i, aEnd, j, bEnd]);
  }
  return found.sort((one, two) => one[0] - two[0]);
}

function trim(a: number[], b: number[], [aStart, aEnd, bStart, bEnd]: Range, found: [number, number][]): Range {
  while (aStart < aEnd && bStart < bEnd && a[aStart] === b[bStart]) found.push([aStart++, bStart++]);
  while (aStart < aEnd && bStart < bEnd && a[aEnd - 1] === b[bEnd - 1]) found.push([--aEnd, --bEnd]);
  return [aStart, aEnd, bStart, bEnd];
}

/** Lines that occur exactly once on both sides, as far as they stand in the same order there. */
function uniqueAnchors(a: number[], b: number[], [aStart, aEnd, bStart, bEnd]: Range): [number, number][] {
  const once = (lines: number[], start: number, end: number) => {
    const places = new Map<number, number>();
    for (let at = start; at < end; at++) places.set(lines[at]!, places.has(lines[at]!) ? -1 : at);
    return places;
  };
  const inB = once(b, bStart, bEnd);
  const pairs: [number, number][] = [];
  for (const [line, at] of once(a, aStart, aEnd)) {
    const other = inB.get(line);
    if (at >= 0 && other !== undefined && other >= 0) pairs.push([at, other]);
  }
  return longestRising(pairs);
}

function longestRising(pairs: [number, number][]): [number, number][] {
  const tops: number[] = [];
  const before: number[] = [];
  pairs.forEach(([, b], index) => {
    let [low, high] = [0, tops.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[tops[middle]!]![1] < b) low = middle + 1;
      else high = middle;
    }
    before[index] = low ? tops[low - 1]! : -1;
    tops[low] = index;
  });
  const chain: [number, number][] = [];
  for (let at = tops.at(-1) ?? -1; at >= 0; at = before[at]!) chain.push(pairs[at]!);
  return chain.reverse();
}

/** Myers' greedy walk; nothing is matched if more than MOST_EDITS edits would be needed. */
function myers(a: number[], b: number[], [aStart, aEnd, bStart, bEnd]: Range): [number, number][] {
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
  const shorter = Math.min(one.text.length, two.text.length);
  let head = 0;
  while (head < shorter && one.text[head] === two.text[head]) head++;
  if (head && isHighSurrogate(one.text, head - 1)) head--;
  let tail = 0;
  while (tail < shorter - head && one.text.at(-1 - tail) === two.text.at(-1 - tail)) tail++;
  if (tail && isHighSurrogate(one.text, one.text.length - tail - 1)) tail--;
  if (head + tail < LEAST_ALIKE * Math.max(one.text.length, two.text.length)) return;
  if (head + tail < one.text.length) one.mark = [head, one.text.length - tail];
  if (head + tail < two.text.length) two.mark = [head, two.text.length - tail];
}

function isHighSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code <= 0xdbff;
}
