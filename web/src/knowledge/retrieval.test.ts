import { describe, expect, test } from "vitest";
import type { Chunk } from "../device/database";
import { withContext } from "./context";
import { NARROW, retrieve, VectorTable, WIDE, WordIndex, type Breadth, type Shelf } from "./retrieval";

const chunk = (n: number, text: string, document = "d"): Chunk => ({
  id: `${document}:${n}`,
  document_id: document,
  n,
  start: 0,
  end: text.length,
  text,
});
const unit = (angle: number) => new Float32Array([Math.cos(angle), Math.sin(angle)]);
const none = () => undefined;

/** Each passage with the angle of its vector; without one it has none yet. */
function shelfOf(...given: (readonly [Chunk, number?])[]): Shelf {
  const rows = given.flatMap(([, angle], n) => (angle === undefined ? [] : [n]));
  return {
    chunks: given.map(([each]) => each),
    words: WordIndex.of(given.map(([each]) => withContext(each))),
    rows,
    table: VectorTable.of(rows.map((n) => unit(given[n]![1]!))),
  };
}
const textsOf = (shelf: Shelf, question: string, angle: number | null, breadth: Breadth = NARROW) =>
  retrieve(shelf, question, angle === null ? null : unit(angle), none, breadth).map((hit) => hit.chunk.text);

test("by meaning the nearest come first, and what is far does not come at all", () => {
  const shelf = shelfOf([chunk(0, "far"), 1.5], [chunk(1, "near"), 0.1], [chunk(2, "middle"), 0.8]);
  expect(textsOf(shelf, "?", 0)).toEqual(["near", "middle"]);
});

test("by words rare ones count more, and endings and accents little", () => {
  const shelf = shelfOf(
    ...["The café of the wells", "Water and water", "Water in a well", "Nothing"].map(
      (text, n) => [chunk(n, text)] as const,
    ),
  );
  expect(textsOf(shelf, "What is a cafe with a well and water?", null)).toEqual([
    "The café of the wells",
    "Water in a well",
    "Water and water",
  ]);
  expect(textsOf(shelf, "the of and", null)).toEqual([]);
});

test("words of scripts without spaces are found", () => {
  expect(
    textsOf(shelfOf([chunk(0, "この井戸はとても深い。")], [chunk(1, "橋は古い。")]), "井戸の深さ", null, WIDE),
  ).toEqual(["この井戸はとても深い。"]);
});

describe("both ways together", () => {
  // What means the same in other words is found by meaning alone; a number of a part, which means nothing, by words alone.
  const paraphrase = chunk(0, "High water is expected around noon.", "tides");
  const number = chunk(0, "Order QX4471: twelve bolts, galvanised.", "orders");
  const others = Array.from(
    { length: 30 },
    (_, n) =>
      [chunk(n, `Order QX${5000 + n}: some washers, plain, for the deck.`, `other${n}`), 0.9 + n / 100] as const,
  );
  const shelf = shelfOf([paraphrase, 0.05], [number, 1.4], ...others);
  const question = "When does the sea rise, and what is in QX4471?";

  test("find what each of them misses", () => {
    expect(textsOf(shelf, question, null)).not.toContain(paraphrase.text);
    const meaningAlone = { ...shelf, words: WordIndex.of([]) };
    expect(textsOf(meaningAlone, question, 0)).not.toContain(number.text);
    expect(textsOf(shelf, question, 0).slice(0, 2).sort()).toEqual([paraphrase.text, number.text].sort());
  });

  test("prefer what both of them find", () => {
    const both = chunk(9, "QX4471 rises with the sea.", "both");
    const hits = retrieve(shelfOf([paraphrase, 0.05], [number, 1.4], [both, 0.1], ...others), question, unit(0), none);
    expect([hits[0]!.chunk.text, hits[0]!.by]).toEqual([both.text, "both"]);
  });

  test("find a passage that has no vector yet", () => {
    expect(textsOf(shelfOf([paraphrase, 0.05], [number]), question, 0)).toContain(number.text);
  });
});

test("a heading above a passage helps to find it", () => {
  const [lost, found] = [chunk(0, "Twelve steps."), { ...chunk(1, "Nine steps."), section: "Depth of the well" }];
  expect(textsOf(shelfOf([lost], [found]), "How deep is the well (depth)?", null)).toEqual([found.text]);
});

describe("of what fits", () => {
  const sentence =
    "The bridge of Quellmouth has many cracked beams under its deck, and nobody has counted the lamps along its railing since spring, when the river rose";

  test("the same words come once, but not if a number differs", () => {
    const shelf = shelfOf(
      [chunk(0, `${sentence}.`, "one")],
      [chunk(0, `${sentence.toUpperCase()}!`, "copy")],
      [chunk(0, `${sentence} by 41 inches.`, "a")],
      [chunk(0, `${sentence} by 43 inches.`, "b")],
    );
    expect(
      retrieve(shelf, "cracked beams of the bridge", null, none)
        .map((hit) => hit.chunk.document_id)
        .sort(),
    ).toEqual(["a", "b", "one"]);
  });

  test("rows that differ in one name are not the same", () => {
    const shelf = shelfOf(
      [chunk(0, "Town: Brook; State: cracked beams")],
      [chunk(1, "Town: Ash; State: cracked beams")],
    );
    expect(textsOf(shelf, "cracked beams", null)).toHaveLength(2);
  });

  test("one document takes half of the places while others have something, and all where they have not", () => {
    const long = Array.from(
      { length: 20 },
      (_, n) => [chunk(n, `Cracked beams, cracked beams: number ${n} of bridge.`, "long")] as const,
    );
    const short = Array.from(
      { length: 3 },
      (_, n) => [chunk(0, `The lamps on bridge ${n} hang from beams of oak and iron.`, `short${n}`)] as const,
    );
    const documents = retrieve(shelfOf(...long, ...short), "cracked beams of a bridge", null, none).map(
      (hit) => hit.chunk.document_id,
    );
    expect([documents.length, documents.filter((each) => each === "long").length]).toEqual([8, 5]);
    expect(retrieve(shelfOf(...long), "cracked beams", null, none)).toHaveLength(8);
  });

  test("an address comes once", () => {
    const shelf = shelfOf([chunk(0, "https://a.example/beams", "u")], [chunk(0, "https://a.example/beams", "v")]);
    expect(retrieve(shelf, "a example beams", null, () => "https://a.example/beams")).toHaveLength(1);
  });

  test("eight go along beside the web, forty and 24,000 characters where there is nothing else", () => {
    const many = shelfOf(
      ...Array.from(
        { length: 90 },
        (_, n) => [chunk(n, `Beam ${n} is cracked. `.repeat(n < 45 ? 5 : 60), `d${n}`)] as const,
      ),
    );
    expect(textsOf(many, "cracked beams", null)).toHaveLength(8);
    const wide = textsOf(many, "cracked beams", null, WIDE);
    expect(wide.length).toBeLessThanOrEqual(40);
    expect(wide.length).toBeGreaterThan(15);
    expect(wide.join("").length).toBeLessThanOrEqual(24_000);
  });
});

test("ten thousand passages are searched, and a question of eighty words", () => {
  const words = Array.from({ length: 3_000 }, (_, n) => `word${n.toString(36)}`);
  const text = (n: number) =>
    Array.from({ length: 80 }, (_, at) => words[(n * 31 + at * at * 7) % words.length]).join(" ");
  const chunks = Array.from({ length: 10_000 }, (_, n) => chunk(n, text(n), `d${n % 50}`));
  const vectors = chunks.map((_, n) => Float32Array.from({ length: 384 }, (_, at) => Math.sin(n * 31 + at * 17) / 14));
  const shelf: Shelf = {
    chunks,
    words: WordIndex.of(chunks.map((each) => each.text)),
    rows: chunks.map((_, n) => n),
    table: VectorTable.of(vectors),
  };
  const search = () => retrieve(shelf, text(77), vectors[99]!, none, WIDE);
  expect(search().length).toBeGreaterThan(20);
});
