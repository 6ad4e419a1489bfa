import { expect, test } from "vitest";
import { growTree, moveInTree, rowsOf, windowOf } from "./tree";

const files = ["/b.md", "/a10.md", "/a9.md", "/docs/one.md", "/docs/deep/two.md", "/Zoo/z.md"].map((path) => ({
  id: path,
  path,
  size: 1,
}));
const rows = (...open: string[]) => rowsOf(growTree(files), (key) => open.includes(key));

test("folders come first, numbers count as numbers", () => {
  expect(rows().map((row) => row.name)).toEqual(["docs", "Zoo", "a9.md", "a10.md", "b.md"]);
  expect(rows()[0]).toMatchObject({ key: "/docs/", files: 2, place: 1, siblings: 5, level: 1 });
});

test("an open folder shows what is in it", () => {
  expect(
    rows("/docs/", "/docs/deep/")
      .map((row) => `${row.level} ${row.name}`)
      .slice(0, 4),
  ).toEqual(["1 docs", "2 deep", "3 two.md", "2 one.md"]);
});

test("arrows open, enter, leave and close a folder", () => {
  expect(moveInTree(rows(), 0, "ArrowRight")).toEqual({ toggle: "/docs/" });
  expect(moveInTree(rows("/docs/"), 0, "ArrowRight")).toEqual({ to: 1 });
  expect(moveInTree(rows("/docs/"), 2, "ArrowLeft")).toEqual({ to: 0 });
  expect(moveInTree(rows("/docs/"), 0, "ArrowLeft")).toEqual({ toggle: "/docs/" });
  expect(moveInTree(rows(), 0, "a")).toEqual({ to: 2 });
  expect(moveInTree(rows(), 3, "z")).toEqual({ to: 1 });
  expect(moveInTree(rows(), 4, "ArrowDown")).toEqual({ to: 4 });
});

test("of thousands of rows a screenful is drawn", () => {
  expect(windowOf(5_000, 28, 28_000, 560)).toEqual({ from: 992, to: 1_028 });
  expect(windowOf(3, 28, 0, 560)).toEqual({ from: 0, to: 3 });
});
