import { describe, expect, it } from "vitest";
import { readUnified } from "./unified";

const DIFF = [
  "--- a/plan.md",
  "+++ b/plan.md",
  "@@ -3,3 +3,4 @@",
  " three",
  "-four",
  "+4",
  "+4½",
  " five",
  "@@ -20,2 +21,1 @@",
  " twenty",
  "-twenty-one",
].join("\n");

describe("a unified diff", () => {
  it("becomes rows with their numbers, and gaps between hunks", () => {
    const { rows, cut } = readUnified(DIFF);
    expect(cut).toBe(false);
    expect(
      rows.map((row) => (row.gap ? `gap ${row.gap}` : `${row.sign}${row.text} ${row.before ?? ""}:${row.after ?? ""}`)),
    ).toEqual([
      "gap 2",
      " three 3:3",
      "-four 4:",
      "+4 :4",
      "+4½ :5",
      " five 5:6",
      "gap 14",
      " twenty 20:21",
      "-twenty-one 21:",
    ]);
  });
  it("of a new file is all added, also lines that look like headers", () => {
    expect(readUnified("--- a/n\n+++ b/n\n@@ -0,0 +1,2 @@\n+++ b\n+-- a").rows).toEqual([
      { sign: "+", text: "++ b", after: 1 },
      { sign: "+", text: "-- a", after: 2 },
    ]);
  });
  it("says that it was cut, and may be empty", () => {
    expect(readUnified(`${DIFF}\n(cut: the diff has 48,213 characters)`).cut).toBe(true);
    expect(readUnified("")).toEqual({ rows: [], cut: false });
  });
});
