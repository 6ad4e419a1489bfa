import { expect, test } from "vitest";
import { readTable } from "./tables";

const named = ({ text, parts }: ReturnType<typeof readTable>) =>
  parts.map((part, n) => [part.name, text.slice(part.start, parts[n + 1]?.start).trim()]);

test("each row of a table can be read alone, and knows its line", () => {
  const table = 'Town;Beams;"Remark; long"\nQuellmouth;41;"cracked ""badly"",\nsince May"\n;;\nBrook;;none\n';
  expect(named(readTable(table))).toEqual([
    ["line 2", 'Town: Quellmouth; Beams: 41; Remark; long: cracked "badly", since May'],
    ["line 5", "Town: Brook; Remark; long: none"],
  ]);
  expect(named(readTable("a\tb\n1,5\t2", true))).toEqual([["line 2", "a: 1,5; b: 2"]]);
  expect(named(readTable("only,a,head"))).toEqual([["line 1", "only; a; head"]]);
  expect(readTable("")).toEqual({ text: "", parts: [] });
});

test("a table with columns that nobody named, and a quote that never ends, is read", () => {
  expect(named(readTable('a,b\n1,2,3\n"never'))).toEqual([
    ["line 2", "a: 1; b: 2; Column 3: 3"],
    ["line 3", "a: never"],
  ]);
});

test("a large table is read in one pass", () => {
  const rows = Array.from({ length: 50_000 }, (_, n) => `town ${n},${n}`).join("\n");
  expect(readTable(`name,beams\n${rows}`).parts).toHaveLength(50_000);
  expect(readTable(`a,b\n${'"'.repeat(200_000)}`).parts.length).toBeLessThan(2);
});
