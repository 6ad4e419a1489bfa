import "fake-indexeddb/auto";
import { expect, test } from "vitest";
import { openDevice, type Chunk } from "../device/database";
import { keepVectors, placeIn } from "./library.svelte";

const passage = (n: number, text: string): Chunk => ({
  id: `d:${n}`,
  document_id: "d",
  n,
  start: 0,
  end: text.length,
  text,
});

test("a vector is kept for the text that it was made of, not for what stands there by then", async () => {
  const device = await openDevice();
  const embedded = [passage(0, "stays"), passage(1, "is fetched again"), passage(2, "is removed")];
  await device.write("chunks", (stores) =>
    Promise.all([passage(0, "stays"), passage(1, "another text")].map((chunk) => stores.chunks.put(chunk))),
  );
  await keepVectors(
    device,
    "small",
    embedded,
    embedded.map(({ n }) => new Float32Array([n])),
  );
  const kept = await device.read("vectors", (stores) => stores.vectors.all());
  expect(kept.map(({ chunk_id, embedder, vector }) => [chunk_id, embedder, [...vector]])).toEqual([
    ["d:0", "small", [0]],
  ]);
});

test("a passage names its place, and one that was kept before places were, its page", () => {
  const at = (start: number, end = start + 5) => ({ start, end });
  const paged = { pages: [0, 40, 90] };
  expect([placeIn(paged, at(0)), placeIn(paged, at(40)), placeIn(paged, at(500))]).toEqual([
    "page 1",
    "page 2",
    "page 3",
  ]);
  expect([placeIn({ pages: [0] }, at(9)), placeIn({}, at(9)), placeIn({}, { ...at(9), place: "slide 2" })]).toEqual([
    "",
    "",
    "slide 2",
  ]);
  const parts = [
    { start: 0, name: "sheet Sales", cells: "A2:C2" },
    { start: 20, name: "sheet Sales", cells: "A3:C3" },
  ];
  const rows = { ...at(0, 40), place: "sheet Sales, A2:C3", parts };
  expect([placeIn({}, rows), placeIn({}, rows, 22, 30)]).toEqual(["sheet Sales, A2:C3", "sheet Sales, A3:C3"]);
});
