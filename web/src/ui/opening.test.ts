import { describe, expect, it } from "vitest";

const sources: Record<string, string> = import.meta.glob("../**/*.svelte", {
  query: "?raw",
  import: "default",
  eager: true,
});
const DETAILS = /<details\b[^>]*?[\s{]open\b/g;

describe("what a person opens", () => {
  it("is never closed by markup that sets `open` again with each change", () => {
    const found = Object.entries(sources).flatMap(([file, text]) =>
      [...text.matchAll(DETAILS)].map(([tag]) => `${file}: ${tag}`),
    );
    expect(Object.keys(sources).length).toBeGreaterThan(50);
    expect(found, "Use {@attach opensFor(() => ...)} of ui/opening.svelte.ts.").toEqual([]);
  });
});
