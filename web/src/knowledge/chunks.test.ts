import { describe, expect, test } from "vitest";
import { cutIntoPassages, PASSAGE_CHARS } from "./chunks";
import { readTable } from "./tables";

/** The same sequence each time: a failing text can be found again. */
function random(seed: number): () => number {
  return () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
}
const PIECES = [
  "well",
  "steps ",
  " ",
  "\n",
  "\n\n",
  ". ",
  "! ",
  "water",
  "🪣",
  "é",
  "井戸は深い。",
  "?\n",
  "Mr. ",
  "x".repeat(90),
  "x".repeat(700),
  "\t",
  "’",
  "…  ",
];

function anyText(seed: number): string {
  const next = random(seed);
  return Array.from({ length: Math.floor(next() * 400) }, () => PIECES[Math.floor(next() * PIECES.length)]).join(
    next() < 0.5 ? " " : "",
  );
}

describe("passages", () => {
  test.each(Array.from({ length: 60 }, (_, seed) => seed))(
    "of any text (%i) have exact places, lose nothing and are not too long",
    (seed) => {
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
    },
  );

  const prose = Array.from(
    { length: 60 },
    (_, n) =>
      `Landing ${n} of the stepwell holds ${n * 7} jars of water, and ${n % 5} people rest there in the shade of the stone.`,
  ).join(" ");

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
    const long = Array.from(
      { length: 8 },
      (_, n) => `${"the water stands low in the well and ".repeat(8)}nobody ${n} goes down.`,
    ).join(" ");
    const passages = cutIntoPassages(long);
    const overlaps = passages.slice(1).map((passage, n) => passages[n]!.end - passage.start);
    expect(Math.max(...overlaps)).toBeLessThanOrEqual(160);
    expect(overlaps.some((overlap) => overlap > 40)).toBe(true);
    for (const passage of passages.slice(1)) expect(long[passage.start - 1]).toMatch(/\s/);
  });

  const page = (start: number, n: number) => ({ start, name: `page ${n}`, cells: "" });

  test("of pages stay on their page, and name it", () => {
    const text = "The first page.\n\nThe second page is longer.\n\n\n\nThe fourth.";
    const passages = cutIntoPassages(text, { parts: [page(0, 1), page(17, 2), page(45, 3), page(47, 4)] });
    expect(passages.map((each) => [each.text, each.place])).toEqual([
      ["The first page.", "page 1"],
      ["The second page is longer.", "page 2"],
      ["The fourth.", "page 4"],
    ]);
    for (const { start, end, text: words } of passages) expect(text.slice(start, end)).toBe(words);
    expect(cutIntoPassages("All of it.", { parts: [page(0, 1)] })[0]).not.toHaveProperty("place");
  });

  test("do not go over a heading, and know the headings above them", () => {
    const text = "Before.\n\n# Wells\n\n## Depth\n\nTwelve steps.\n\n## Water\n\nCold.\n\n# Roads\n\nNone.";
    const passages = cutIntoPassages(text, { headings: true });
    expect(passages.map((each) => [each.text, each.section])).toEqual([
      ["Before.", undefined],
      ["# Wells\n\n## Depth\n\nTwelve steps.", undefined],
      ["## Water\n\nCold.", "Wells"],
      ["# Roads\n\nNone.", undefined],
    ]);
    const long = `# Wells\n\n## Depth\n\n${"The well is twelve steps deep. ".repeat(40)}`;
    expect(
      cutIntoPassages(long, { headings: true })
        .slice(1)
        .every((each) => each.section === "Wells > Depth"),
    ).toBe(true);
    expect(cutIntoPassages("# a comment\nx = 1\n# another\ny = 2")).toHaveLength(1);
  });

  test("never cut a row of a table, and name its cells", () => {
    const rows = Array.from(
      { length: 30 },
      (_, n) => `Town: Quellmouth ${n}; Bridges: ${n}; Remark: ${"cracked. ".repeat(n === 7 ? 80 : 5).trim()}`,
    );
    let start = 0;
    const parts = rows.map((row, n) => {
      const part = { start, name: "sheet Survey", cells: `A${n + 2}:C${n + 2}` };
      start += row.length + 2;
      return part;
    });
    const passages = cutIntoPassages(rows.join("\n\n"), { parts });
    expect(passages.flatMap((each) => each.text.split("\n\n"))).toEqual(rows);
    expect(passages[0]!.place).toMatch(/^sheet Survey, A2:C\d$/);
    expect(passages[0]!.parts![1]).toEqual(parts[1]);
    expect(passages.find((each) => each.text.includes("Quellmouth 7;"))!.place).toBe("sheet Survey, A9:C9");
  });

  test("of a table that was read here are its rows", () => {
    const { text, parts } = readTable("Town,Beams\nQuellmouth,41\nBrook,7\n");
    expect(cutIntoPassages(text, { parts })).toMatchObject([
      { text: "Town: Quellmouth; Beams: 41\n\nTown: Brook; Beams: 7", place: "lines 2 to 3" },
    ]);
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
