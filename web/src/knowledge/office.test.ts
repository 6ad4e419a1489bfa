import { expect, test } from "vitest";
import { isOnThisMachine, officeKindOf, officeWordsOf } from "./office";

test("the server reads what a browser cannot, and only that", () => {
  const names = [
    "a.docx",
    "b.PPTX",
    "c.xlsx",
    "d.epub",
    "e.eml",
    "f.mbox",
    "g.jsonl",
    "h.pdf",
    "i.csv",
    "j.md",
    "k.html",
    "docx",
    "l.txt",
    "m.PNG",
    "n.jpeg",
    "o.svg",
  ];
  expect(names.map((name) => officeKindOf(name))).toEqual([
    "word",
    "slides",
    "sheet",
    "book",
    "mail",
    "mail",
    "records",
    null,
    null,
    null,
    null,
    null,
    null,
    "image",
    "image",
    null,
  ]);
  expect([officeWordsOf("a.docx"), officeWordsOf("c.XLSM")]).toEqual(["a Word file", "an Excel file"]);
});

test("a page from this machine's own server sends nothing away", () => {
  expect(["localhost", "127.0.0.1", "127.8.8.8", "[::1]", "app.localhost"].map(isOnThisMachine)).toEqual([
    true,
    true,
    true,
    true,
    true,
  ]);
  expect(["example.org", "localhost.example.org", "10.0.0.1", "127.example.org", "[::2]"].map(isOnThisMachine)).toEqual(
    [false, false, false, false, false],
  );
});
