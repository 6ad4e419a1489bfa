import "fake-indexeddb/auto";
import { expect, test } from "vitest";
import { openDevice, type Chunk } from "../device/database";
import { keepVectors, labelOf, placeOf } from "./library.svelte";

const passage = (n: number, text: string): Chunk => ({ id: `d:${n}`, document_id: "d", n, start: 0, end: text.length, text });

test("a vector is kept for the text that it was made of, not for what stands there by then", async () => {
  const device = await openDevice();
  const embedded = [passage(0, "stays"), passage(1, "is fetched again"), passage(2, "is removed")];
  await device.write("chunks", (stores) => Promise.all([passage(0, "stays"), passage(1, "another text")].map((chunk) => stores.chunks.put(chunk))));
  await keepVectors(device, "small", embedded, embedded.map(({ n }) => new Float32Array([n])));
  const kept = await device.read("vectors", (stores) => stores.vectors.all());
  expect(kept.map(({ chunk_id, embedder, vector }) => [chunk_id, embedder, [...vector]])).toEqual([["d:0", "small", [0]]]);
});

test("names a document and the page in it", () => {
  const paged = { label: "report.pdf", pages: [0, 40, 90] };
  expect([placeOf(paged, 0), placeOf(paged, 40), placeOf(paged, 500)]).toEqual(["page 1", "page 2", "page 3"]);
  expect(labelOf(paged, 95)).toBe("report.pdf, page 3");
  expect([placeOf({ pages: [0] }, 9), labelOf({ label: "notes.md" }, 9)]).toEqual(["", "notes.md"]);
});
