/**
 * Where the boxes of an argument's graph stand: a tidy tree of the outline from the top down, roots side by side; links that the tree does
 * not have are lines across. Small on purpose: an argument has tens of clauses, and its outline is a tree already.
 */

import { outlineOf, type Argument, type Clause, type Entry, type Link } from "./argument";

export const BOX = { width: 212, height: 84, gapX: 24, gapY: 58 } as const;
const LINE_CHARS = 27;
const MOST_LINES = 3;

export interface Box {
  readonly clause: Clause;
  readonly x: number;
  readonly y: number;
  readonly lines: readonly string[];
}

export interface Line {
  readonly link: Link;
  readonly path: string;
  /** Where its word stands. */
  readonly x: number;
  readonly y: number;
}

export interface Drawing {
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
  readonly width: number;
  readonly height: number;
}

export function layOut(argument: Argument): Drawing {
  const { entries, unplaced } = outlineOf(argument);
  const boxes: Box[] = [];
  let [column, deepest] = [0, 0];
  const stepX = BOX.width + BOX.gapX;
  const stepY = BOX.height + BOX.gapY;
  const place = (entry: Entry, depth: number): number => {
    deepest = Math.max(deepest, depth);
    const below = entry.below.map((each) => place(each, depth + 1));
    const x = below.length ? (below[0]! + below.at(-1)!) / 2 : column++ * stepX;
    boxes.push({ clause: entry.clause, x, y: depth * stepY, lines: wrap(labelOf(entry.clause)) });
    return x;
  };
  for (const entry of [...entries, ...unplaced]) place(entry, 0);
  const at = new Map(boxes.map((box) => [box.clause.id, box]));
  const lines = argument.links.map((link) => draw(link, at.get(link.source)!, at.get(link.target)!));
  return { boxes, lines, width: Math.max(1, column) * stepX - BOX.gapX, height: (deepest + 1) * stepY - BOX.gapY };
}

/** From the top of the lower box to the bottom of the upper one; boxes of one row are joined by a bow below them. */
function draw(link: Link, from: Box, to: Box): Line {
  const middle = BOX.width / 2;
  const [x1, x2] = [from.x + middle, to.x + middle];
  if (from.y === to.y) {
    const [y, low] = [from.y + BOX.height, from.y + BOX.height + BOX.gapY * 0.8];
    return { link, path: `M${x1} ${y} C${x1} ${low} ${x2} ${low} ${x2} ${y}`, x: (x1 + x2) / 2, y: y + BOX.gapY * 0.6 };
  }
  const up = from.y > to.y;
  const y1 = up ? from.y : from.y + BOX.height;
  const y2 = up ? to.y + BOX.height : to.y;
  const bend = (y1 + y2) / 2;
  // Nearer to where it begins: lines that end at one clause come together there.
  return {
    link,
    path: `M${x1} ${y1} C${x1} ${bend} ${x2} ${bend} ${x2} ${y2}`,
    x: x1 + (x2 - x1) * 0.25,
    y: y1 + (y2 - y1) * 0.33,
  };
}

function labelOf(clause: Clause): string {
  return clause.term ? `${clause.term}: ${clause.text}` : clause.text;
}

/** Some lines of about the same length; the last one says that there is more. */
export function wrap(text: string, most = MOST_LINES, width = LINE_CHARS): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text
    .split(/\s+/)
    .filter(Boolean)
    .flatMap((each) => cut(each, width))) {
    if (line && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line ? `${line} ${word}` : word;
  }
  if (line) lines.push(line);
  if (lines.length <= most) return lines;
  const last = lines[most - 1]!;
  return [...lines.slice(0, most - 1), `${last.length >= width ? last.slice(0, width - 1) : last}…`];
}

function cut(word: string, width: number): string[] {
  const letters = [...word];
  return Array.from({ length: Math.ceil(letters.length / width) }, (_, at) =>
    letters.slice(at * width, (at + 1) * width).join(""),
  );
}
