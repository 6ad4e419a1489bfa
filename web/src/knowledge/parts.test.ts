import { expect, test } from "vitest";
import { extentOf, inUtf16, mapParts, placeOf, type Part } from "./parts";

const parts = (...names: (string | [string, string])[]): Part[] =>
  names.map((name, n) => ({
    start: n * 10,
    name: typeof name === "string" ? name : name[0],
    cells: typeof name === "string" ? "" : name[1],
  }));

test("a place is named as the server names it", () => {
  const pages = parts("page 1", "page 2", "page 3");
  expect([placeOf(pages, 0, 10), placeOf(pages, 12, 30), placeOf([], 0, 5)]).toEqual(["page 1", "pages 2 to 3", ""]);
  const sheet = parts(["sheet Sales", "A2:F2"], ["sheet Sales", "A3:F3"], ["sheet Costs", "A2:B2"]);
  expect([placeOf(sheet, 0, 5), placeOf(sheet, 0, 15), placeOf(sheet, 5, 25)]).toEqual([
    "sheet Sales, A2:F2",
    "sheet Sales, A2:F3",
    "sheet Sales to sheet Costs",
  ]);
  expect(placeOf(parts("lines 2 to 3", "lines 4 to 5"), 0, 15)).toBe("lines 2 to 5");
  expect(placeOf(parts("message 4 (Ann Lee, 3 May 2025)"), 3, 4)).toBe("message 4 (Ann Lee, 3 May 2025)");
});

test("what a document is made of is counted", () => {
  expect(extentOf(parts("page 1", "page 2"))).toBe("2 pages");
  expect(extentOf(parts(["sheet Sales", "A2:F2"], ["sheet Sales", "A3:F3"]))).toBe("1 sheet");
  expect(extentOf(parts("message 1 (Ann, 3 May 2025)"))).toBe("");
  expect(extentOf([])).toBe("");
});

test("the server's offsets become those of JavaScript", () => {
  const text = "💧💧 one\n\ntwo";
  const moved = inUtf16(text, [
    { start: 0, name: "slide 1", cells: "" },
    { start: 8, name: "slide 2", cells: "" },
  ]);
  expect(text.slice(moved[1]!.start)).toBe("two");
});

test("parts keep their beginnings when their text changes", () => {
  const { text, parts: moved } = mapParts(
    "xaaxbbb",
    [
      { start: 1, name: "page 1", cells: "" },
      { start: 4, name: "page 2", cells: "" },
    ],
    (each) => each.replaceAll("x", ""),
  );
  expect([text, moved.map((part) => text.slice(part.start))]).toEqual(["aabbb", ["aabbb", "bbb"]]);
});
