import { describe, expect, it } from "vitest";
import { countChanges, cutBlocks, diffLines, firstBlocks, foldRows, type Row } from "./diff";

const shown = (rows: Row[]) => rows.map((row) => `${row.sign}${row.text}`);
const side = (rows: Row[], sign: "-" | "+") =>
  rows.filter((row) => row.sign === " " || row.sign === sign).map((row) => row.text);

/** The best of three: the machine may be busy with something else. */
function quickest(work: () => unknown): number {
  const times = [1, 2, 3].map(() => {
    const began = performance.now();
    work();
    return performance.now() - began;
  });
  return Math.min(...times);
}

describe("diffLines", () => {
  it("shows a changed line as removed and added, with the part that differs", () => {
    const rows = diffLines("a\nThe bridge is 1,025 m\nc\n", "a\nThe bridge is 1,030 m\nc\n");
    expect(shown(rows)).toEqual([" a", "-The bridge is 1,025 m", "+The bridge is 1,030 m", " c"]);
    expect(rows[1]!.text.slice(...rows[1]!.mark!)).toBe("25");
    expect(rows[2]!.text.slice(...rows[2]!.mark!)).toBe("30");
  });

  it("numbers lines on the side where they stand", () => {
    const rows = diffLines("a\nb\n", "a\nx\nb\n");
    expect(rows.map((row) => [row.before, row.after])).toEqual([
      [1, 1],
      [undefined, 2],
      [2, 3],
    ]);
  });

  it("tells a missing line break at the end", () => {
    const rows = diffLines("a\nb", "a\nb\n");
    expect(shown(rows)).toEqual([" a", "-b", "+b"]);
    expect(rows[1]!.unended).toBe(true);
    expect(rows[2]!.unended).toBeUndefined();
  });

  it("shows a new and an emptied file", () => {
    expect(shown(diffLines("", "a\nb\n"))).toEqual(["+a", "+b"]);
    expect(shown(diffLines("a\n", ""))).toEqual(["-a"]);
    expect(diffLines("", "")).toEqual([]);
  });

  it("does not cut an emoji in two", () => {
    const rows = diffLines("well 👍 done\n", "well 👎 done\n");
    expect(rows[0]!.text.slice(...rows[0]!.mark!)).toBe("👍");
  });

  it("gives back both texts, whatever they are", () => {
    let seed = 7;
    const random = (below: number) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % below;
    for (let round = 0; round < 300; round++) {
      const before = Array.from({ length: random(14) }, () => "abcde"[random(5)]!);
      const after = Array.from({ length: random(14) }, () => "abcde"[random(5)]!);
      const rows = diffLines(before.map((line) => `${line}\n`).join(""), after.map((line) => `${line}\n`).join(""));
      expect(side(rows, "-")).toEqual(before);
      expect(side(rows, "+")).toEqual(after);
    }
  });

  it("finds 40 changes among 5,000 lines within a second, also if all lines differ", () => {
    const lines = Array.from({ length: 5000 }, (_, at) => (at % 3 ? `line ${at}` : ""));
    const changed = lines.map((line, at) => (at % 125 === 1 ? `${line} changed` : line));
    const other = lines.map((_, at) => `another ${at * 7}`);
    const others = ["x\ny\n".repeat(2500), "y\nz\n".repeat(2500)] as const;
    expect(countChanges(diffLines(lines.join("\n"), changed.join("\n"))).added).toBe(40);
    expect(countChanges(diffLines(lines.join("\n"), other.join("\n")))).toEqual({ added: 5000, removed: 5000 });
    const pairs = [[lines.join("\n"), changed.join("\n")], [lines.join("\n"), other.join("\n")], others] as const;
    for (const [before, after] of pairs) expect(quickest(() => diffLines(before, after))).toBeLessThan(1000);
  });
});

describe("foldRows", () => {
  it("keeps three lines around a change and folds the rest", () => {
    const lines = Array.from({ length: 30 }, (_, at) => `l${at}`);
    const after = lines.with(15, "new");
    const blocks = foldRows(diffLines(lines.join("\n"), after.join("\n")));
    expect(blocks.map((block) => [block.kind, block.rows.length])).toEqual([
      ["fold", 12],
      ["rows", 8],
      ["fold", 11],
    ]);
  });

  it("folds no single line", () => {
    const lines = Array.from({ length: 9 }, (_, at) => `l${at}`);
    const blocks = foldRows(diffLines(lines.join("\n"), lines.with(0, "x").with(8, "y").join("\n")));
    expect(blocks.every((block) => block.kind === "rows")).toBe(true);
  });
});

describe("a long diff, drawn from the top", () => {
  const lines = Array.from({ length: 1000 }, (_, at) => `l${at}`);
  const added = foldRows(diffLines("", lines.join("\n")));
  const changed = foldRows(diffLines(lines.join("\n"), lines.with(500, "new").join("\n")));

  it("is cut into pieces that together are all of it", () => {
    const pieces = cutBlocks(added, [], 300);
    expect(pieces.map((piece) => [piece.at, piece.rows.length])).toEqual([
      [0, 300],
      [300, 300],
      [600, 300],
      [900, 100],
    ]);
    expect(pieces.flatMap((piece) => piece.rows)).toEqual(added.flatMap((block) => block.rows));
  });

  it("leaves folds alone until they are opened", () => {
    expect(cutBlocks(changed, [], 300)).toEqual(changed);
    const pieces = cutBlocks(changed, [0], 300);
    expect(pieces.map((piece) => [piece.kind, piece.rows.length])).toEqual([
      ["rows", 300],
      ["rows", 197],
      ["rows", 8],
      ["fold", 496],
    ]);
  });

  it("begins with as many rows as asked for, and ends with all", () => {
    const pieces = cutBlocks(added, [], 300);
    expect(firstBlocks(pieces, 300)).toEqual(pieces.slice(0, 1));
    expect(firstBlocks(pieces, 301)).toEqual(pieces.slice(0, 2));
    expect(firstBlocks(pieces, 5000)).toEqual(pieces);
    expect(firstBlocks(changed, 2)).toEqual(changed.slice(0, 2));
  });
});
