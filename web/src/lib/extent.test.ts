import { describe, expect, it } from "vitest";
import { extentOf, unpile } from "./extent";

describe("extentOf", () => {
  it("takes a short text whole", () => {
    expect(extentOf("# a\n*b*", 6_000)).toBe(7);
  });
  it("takes less of a text that is all headings or all emphasis than of prose", () => {
    const [prose, headings, emphasis] = ["word ", "# a\n", "*a"].map((piece) => extentOf(piece.repeat(20_000), 6_000));
    expect(prose).toBe(6_000);
    expect(headings).toBeLessThan(1_000);
    expect(emphasis).toBeLessThan(2_000);
  });
  it("stays where it is when the text grows", () => {
    expect(extentOf("- a *b*\n".repeat(1_000), 6_000)).toBe(extentOf("- a *b*\n".repeat(5_000), 6_000));
  });
  it("does not cut a character in half", () => {
    expect(extentOf("\u{1f600}".repeat(5_000), 5_001)).toBe(5_000);
  });
});

describe("unpile", () => {
  it("keeps the marks of every writing, and leaves out those that are piled up", () => {
    for (const text of ["e\u0301", "ที่นี่", "שָׁלוֹם", "नि", "\u2764\ufe0f", "a\u0300\u0301\u0302\u0303"])
      expect(unpile(text)).toBe(text);
    expect(unpile(`a${"\u0301".repeat(300_000)}b`)).toBe(`a${"\u0301".repeat(8)}b`);
  });
  it("leaves the beginning of a text that grows as it was", () => {
    const text = `a${"\u0301".repeat(20)} b${"\u0302".repeat(20)} c`;
    for (let end = 0; end < text.length; end++) expect(unpile(text).startsWith(unpile(text.slice(0, end)))).toBe(true);
  });
});
