import { expect, test } from "vitest";
import type { Chunk } from "../device/database";
import { byMeaning, byWords, choose, fold, VectorTable } from "./retrieval";

const chunk = (n: number, text: string, document = "d"): Chunk => ({ id: `${document}:${n}`, document_id: document, n, start: 0, end: text.length, text });
const unit = (angle: number) => new Float32Array([Math.cos(angle), Math.sin(angle)]);
const none = () => undefined;

test("by meaning the nearest come first, and what is far does not come at all", () => {
  const chunks = [chunk(0, "far"), chunk(1, "near"), chunk(2, "middle")];
  const hits = choose([byMeaning(unit(0), chunks, VectorTable.of([unit(1.5), unit(0.1), unit(0.8)]))], none);
  expect(hits.map((hit) => [hit.chunk.text, hit.by])).toEqual([["near", "meaning"], ["middle", "meaning"]]);
  expect(hits[0]!.score).toBeCloseTo(Math.cos(0.1), 6);
});

test("by words rare ones count more, and endings and accents little", () => {
  const chunks = ["The café of the wells", "Water and water", "Water in a well", "Nothing"].map((text, n) => chunk(n, text));
  const found = choose([byWords("What is a cafe with a well and water?", chunks, chunks.map((each) => fold(each.text)))], none);
  expect(found.map((hit) => hit.chunk.n)).toEqual([0, 2, 1]);
  expect(byWords("the of and", chunks, chunks.map((each) => fold(each.text)))).toEqual([]);
});

test("the same text and the same address come once, eight at most, and both ways take turns", () => {
  const many = Array.from({ length: 20 }, (_, n) => ({ chunk: chunk(n, `text ${n % 15}`), score: 1 - n / 100, by: "meaning" as const }));
  const words = [{ chunk: chunk(0, "Text  3", "w"), score: 1, by: "words" as const }, { chunk: chunk(1, "a", "u"), score: 0.9, by: "words" as const }, { chunk: chunk(2, "b", "u"), score: 0.8, by: "words" as const }];
  const hits = choose([many, words], (each) => (each.document_id === "u" ? "https://a.example/" : undefined));
  expect(hits).toHaveLength(8);
  expect(hits.map((hit) => hit.chunk.text).filter((text) => /^text {1,2}3$/i.test(text))).toHaveLength(1);
  expect(hits.filter((hit) => hit.chunk.document_id === "u")).toHaveLength(1);
  expect(hits[1]!.by).toBe("words");
});

test("two thousand vectors are compared in a few milliseconds", () => {
  const table = VectorTable.of(Array.from({ length: 2_000 }, (_, n) => new Float32Array(384).fill(n / 1e4)));
  table.scores(new Float32Array(384));
  const began = performance.now();
  expect(table.scores(new Float32Array(384).fill(1))).toHaveLength(2_000);
  expect(performance.now() - began).toBeLessThan(100);
});
