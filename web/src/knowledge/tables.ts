// Tables as text, each row a paragraph that can be read alone: "Header: value; Header: value". The same form as the server's
// readers give, so that a row is quoted in the same words wherever it was read. Pure; runs in a worker.

import type { Part } from "./parts";

export interface Rows {
  readonly text: string;
  readonly parts: Part[];
}

/** Comma, semicolon, tab or bar: whichever the first line has most of, outside of quotes. The first row names the columns. */
export function readTable(text: string, isTabs = false): Rows {
  const rows = parseTable(text, isTabs ? "\t" : separatorOf(text));
  const [head, ...body] = rows;
  if (!head) return { text: "", parts: [] };
  if (!body.length) return asRows([{ words: head.cells.filter(Boolean).join("; "), name: `line ${head.number}` }]);
  const names = head.cells.map((cell, n) => oneLine(cell) || `Column ${n + 1}`);
  return asRows(
    body.map((row) => ({
      words: pairsOf(row.cells.map((cell, n) => [names[n] ?? `Column ${n + 1}`, cell])),
      name: `line ${row.number}`,
    })),
  );
}

function asRows(rows: readonly { words: string; name: string }[]): Rows {
  const kept = rows.filter((row) => row.words);
  const parts: Part[] = [];
  let length = 0;
  for (const { words, name } of kept) {
    parts.push({ start: length, name, cells: "" });
    length += words.length + 2;
  }
  return { text: kept.map((row) => row.words).join("\n\n"), parts };
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();
const pairsOf = (pairs: readonly (readonly [string, string])[]): string =>
  pairs
    .map(([name, value]) => [oneLine(name), oneLine(value)])
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}: ${value}`)
    .join("; ");

interface Row {
  readonly cells: string[];
  /** The line that it begins on. */
  readonly number: number;
}

function separatorOf(text: string): string {
  const line = (/^.*$/m.exec(text.trimStart())?.[0] ?? "").replace(/"[^"]*"/g, "");
  const counts = [",", ";", "\t", "|"].map((sign) => [sign, line.split(sign).length] as const);
  return counts.reduce((most, each) => (each[1] > most[1] ? each : most))[0];
}

/** RFC 4180: quotes may hold separators, line ends and doubled quotes. A quote that never ends holds the rest. */
function parseTable(text: string, separator: string): Row[] {
  const rows: Row[] = [];
  let cells: string[] = [];
  let [at, line, began] = [0, 1, 1];
  const endRow = () => {
    if (cells.some((cell) => cell.trim())) rows.push({ cells, number: began });
    cells = [];
    began = line;
  };
  while (at < text.length) {
    let cell: string;
    if (text[at] === '"') {
      let [end, from] = [at + 1, at + 1];
      cell = "";
      for (;;) {
        end = text.indexOf('"', from);
        if (end === -1) end = text.length;
        cell += text.slice(from, end);
        if (text[end + 1] !== '"') break;
        cell += '"';
        from = end + 2;
      }
      line += cell.split("\n").length - 1;
      at = end + 1;
      // What stands between a closing quote and the separator belongs to the cell, as in every spreadsheet.
      const rest = nextOf(text, separator, at);
      cell += text.slice(at, rest);
      at = rest;
    } else {
      const end = nextOf(text, separator, at);
      cell = text.slice(at, end);
      at = end;
    }
    cells.push(cell);
    if (text[at] === "\n") {
      line++;
      endRow();
    }
    at++;
  }
  endRow();
  return rows;
}

function nextOf(text: string, separator: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== separator && text[at] !== "\n") at++;
  return at;
}
