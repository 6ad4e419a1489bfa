/** A unified diff, as the server makes it for an approval, as the rows of our own view. What lies between its hunks is a gap. */

import { markChangedParts, type Row } from "./diff";

export interface Unified {
  readonly rows: Row[];
  /** The server cut it, because it is very long. */
  readonly cut: boolean;
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;
const CUT = /^\(cut: the diff has [\d,]+ characters\)$/;

export function readUnified(diff: string): Unified {
  const lines = diff.split("\n");
  const cut = CUT.test(lines.at(-1) ?? "");
  const rows: Row[] = [];
  let [before, after, inside] = [1, 1, false];
  for (const line of cut ? lines.slice(0, -1) : lines) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      // A hunk that begins at line 0 stands for a side without lines.
      const [from, to] = [Math.max(1, Number(hunk[1])), Math.max(1, Number(hunk[2]))];
      if (from > before) rows.push({ sign: " ", text: "", gap: from - before });
      [before, after, inside] = [from, to, true];
    } else if (!inside)
      continue; // the names of the files
    else if (line.startsWith("+")) rows.push({ sign: "+", text: line.slice(1), after: after++ });
    else if (line.startsWith("-")) rows.push({ sign: "-", text: line.slice(1), before: before++ });
    else if (line.startsWith(" ")) rows.push({ sign: " ", text: line.slice(1), before: before++, after: after++ });
  }
  markChangedParts(rows);
  return { rows, cut };
}
