// Snippets of passages: one for each part, at its own place.

import { describe, expect, it } from "vitest";

import { byPart, type Candidate } from "./attached-excerpts.svelte";

const rows = "Town: Aue; Beams: 41\n\nTown: Selm; Beams: 12";
const passage: Candidate = {
  id: "c1",
  document_id: "d1",
  label: "beams.xlsx",
  place: "sheet Beams, A2:B3",
  text: rows,
  start: 100,
  end: 100 + rows.length,
  parts: [
    { start: 100, name: "sheet Beams", cells: "A2:B2" },
    { start: 100 + rows.indexOf("Town: Selm"), name: "sheet Beams", cells: "A3:B3" },
  ],
};

describe("byPart", () => {
  it("gives each row its own cells and exact offsets", () => {
    const snippets = byPart([passage]);
    expect(snippets.map((each) => [each.place, each.text])).toEqual([
      ["sheet Beams, A2:B2", "Town: Aue; Beams: 41"],
      ["sheet Beams, A3:B3", "Town: Selm; Beams: 12"],
    ]);
    for (const each of snippets) expect(rows.slice(each.start - 100, each.end - 100)).toBe(each.text);
    expect(new Set(snippets.map((each) => each.id)).size).toBe(2);
  });

  it("sends a passage of one part as it is, and nothing of an address", () => {
    const whole: Candidate = { ...passage, parts: undefined };
    expect(byPart([whole, { ...passage, url: "https://a.example/" }])).toEqual(
      [{ ...whole, parts: undefined }].map(({ parts: _parts, ...rest }) => rest),
    );
  });

  it("sends whole passages where there would be too many", () => {
    const many = Array.from({ length: 101 }, (_, n) => ({ ...passage, id: `c${n}` }));
    expect(byPart(many)).toHaveLength(101);
  });
});
