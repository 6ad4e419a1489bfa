import { expect, test } from "vitest";
import { asShown, titleOf, withContext } from "./context";

const document = (more: object) => ({
  id: "d",
  label: "sales.xlsx",
  hash: "",
  size: 1,
  added_at: "",
  state: "kept",
  kind: "sheet",
  ...more,
});

test("a passage is compared with its title, sheet and headings, and quoted without them", () => {
  expect(withContext({ text: "Beams: 41", place: "sheet Survey, A2:C2" }, "sales")).toBe("sales > Survey\nBeams: 41");
  expect(withContext({ text: "Cold.", section: "Wells > Water", place: "page 2" }, "Report")).toBe(
    "Report > Wells > Water\nCold.",
  );
  expect(withContext({ text: "Cold." })).toBe("Cold.");
});

test("a document is called by its own title, or by its file's name without the ending", () => {
  expect([titleOf(document({})), titleOf(document({ title: "The survey" }))]).toEqual(["sales", "The survey"]);
  expect(titleOf(document({ kind: "url" }))).toBe("");
});

test("headings are shown without their signs where a document has headings", () => {
  expect(asShown("# Survey\n\n#1 is cracked", document({}))).toBe("Survey\n\n#1 is cracked");
  expect(asShown("# a comment", document({ kind: "text" }))).toBe("# a comment");
});
