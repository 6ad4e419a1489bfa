import { describe, expect, test } from "vitest";
import { cutIntoPassages, cutPagesIntoPassages, PASSAGE_CHARS } from "./chunks";

/** The same sequence each time: a failing text can be found again. */
function random(seed: number): () => number {
  return () => ((seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648);
}
const PIECES = ["well", "steps ", " ", "\n", "\n\n", ". ", "! ", "water", "🪣", "é", "井戸は深い。", "?\n", "Mr. ", "x".repeat(90), "x".repeat(700), "\t", "’", "…  "];

function anyText(seed: number): string {
  const next = random(seed);
  return Array.from({ length: Math.floor(next() * 400) }, () => PIECES[Math.floor(next() * PIECES.length)]).join(next() < 0.5 ? " " : "");
}

describe("passages", () => {
  test.each(Array.from({ length: 60 }, (_, seed) => seed))("of any text (%i) have exact places, lose nothing and are not too long", (seed) => {
    const text = anyText(seed);
    const passages = cutIntoPassages(text);
    const covered = new Array<boolean>(text.length).fill(false);
    let before = -1;
    for (const { start, end, text: words } of passages) {
      expect(text.slice(start, end)).toBe(words);
      expect(words).toBe(words.trim());
      expect(words.length).toBeGreaterThan(0);
      expect(words.length).toBeLessThanOrEqual(PASSAGE_CHARS);
      expect(words).not.toMatch(/\p{Surrogate}/u);
      expect(start).toBeGreaterThan(before);
      before = start;
      covered.fill(true, start, end);
    }
    const lost = [...text].length ? text.split("").filter((sign, at) => !covered[at] && /\S/.test(sign)) : [];
    expect(lost).toEqual([]);
  });

  const prose = Array.from({ length: 60 }, (_, n) => `Landing ${n} of the stepwell holds ${n * 7} jars of water, and ${n % 5} people rest there in the shade of the stone.`).join(" ");

  test("of prose end with a sentence and begin inside of the one before", () => {
    const passages = cutIntoPassages(prose);
    expect(passages.length).toBeGreaterThan(10);
    for (const passage of passages) expect(passage.text).toMatch(/\.$/);
    for (let n = 1; n < passages.length; n++) {
      const overlap = passages[n - 1]!.end - passages[n]!.start;
      expect(overlap).toBeGreaterThan(40);
      expect(overlap).toBeLessThanOrEqual(160);
    }
  });

  test("of long sentences repeat about eighty characters, from a word on", () => {
    const long = Array.from({ length: 8 }, (_, n) => `${"the water stands low in the well and ".repeat(8)}nobody ${n} goes down.`).join(" ");
    const passages = cutIntoPassages(long);
    const overlaps = passages.slice(1).map((passage, n) => passages[n]!.end - passage.start);
    expect(Math.max(...overlaps)).toBeLessThanOrEqual(160);
    expect(overlaps.some((overlap) => overlap > 40)).toBe(true);
    for (const passage of passages.slice(1)) expect(long[passage.start - 1]).toMatch(/\s/);
  });

  test("of pages stay on their page", () => {
    const text = "The first page.\n\nThe second page is longer.\n\n\n\nThe fourth.";
    const passages = cutPagesIntoPassages(text, [0, 17, 45, 47]);
    expect(passages.map((each) => each.text)).toEqual(["The first page.", "The second page is longer.", "The fourth."]);
    for (const { start, end, text: words } of passages) expect(text.slice(start, end)).toBe(words);
  });

  test("of a short text are one, of nothing none", () => {
    expect(cutIntoPassages("  The well is deep.\n")).toEqual([{ start: 2, end: 19, text: "The well is deep." }]);
    expect(cutIntoPassages("")).toEqual([]);
    expect(cutIntoPassages(" \n\n ")).toEqual([]);
  });

  test("of two megabytes take well under a second", () => {
    const began = performance.now();
    expect(cutIntoPassages(prose.repeat(300)).length).toBeGreaterThan(3_000);
    expect(cutIntoPassages("x".repeat(1_000_000)).length).toBeGreaterThan(2_000);
    expect(cutIntoPassages(" ".repeat(1_000_000))).toEqual([]);
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});
