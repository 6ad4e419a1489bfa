import { describe, expect, test } from "vitest";
import {
  decode,
  decodeEntities,
  kindOf,
  MAX_TEXT_CHARS,
  readHtml,
  tidy,
  titleOfMarkdown,
  UnreadableError,
} from "./extraction";

const bytes = (text: string) => new TextEncoder().encode(text);

test("a kind is known by its first bytes, then by its name", () => {
  expect(kindOf("letter.txt", bytes("junk\n%PDF-1.7 ..."))).toBe("pdf");
  expect(kindOf("page.HTM", bytes("<p>"))).toBe("html");
  expect(kindOf("notes.md", bytes("# x"))).toBe("markdown");
  expect(kindOf("README", bytes("x"))).toBe("text");
  expect(kindOf("sales.CSV", bytes("a,b"))).toBe("table");
  expect(() => kindOf("old.doc", new Uint8Array([0xd0, 0xcf, 0x11, 0xe0]))).toThrow("save it as .docx");
  expect(() => kindOf("letter.rtf", bytes("{\\rtf1"))).toThrow("save it as .docx");
  expect(() => kindOf("x.pdf", bytes("<html>"))).toThrow(UnreadableError);
});

describe("characters", () => {
  test("of UTF-8, UTF-16 and old Western files are read", () => {
    expect(decode(bytes("Łódź 井戸"))).toBe("Łódź 井戸");
    expect(decode(new Uint8Array([0xff, 0xfe, 0x41, 0x00, 0x16, 0x20]))).toBe("A‖");
    expect(decode(new Uint8Array([0x43, 0x61, 0x66, 0xe9]))).toBe("Café");
    expect(decode(new Uint8Array([...bytes('<meta charset="koi8-r">'), 0xcb, 0xcf, 0xcc]), true)).toContain("кол");
    expect(decode(bytes('<meta charset="no-such"> é'), true)).toContain("é");
  });

  test("of a picture are none", () => {
    expect(() => decode(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]))).toThrow("Markdown, HTML and images are");
  });

  test("are kept without halves and control signs", () => {
    expect(tidy("a\r\nb\rc\u0000\u0007\ufeffd \ud800e\ff")).toBe("a\nb\ncd \ufffde\n\nf");
    expect(() => tidy("x".repeat(MAX_TEXT_CHARS + 1))).toThrow("Split it");
  });
});

describe("HTML", () => {
  test("gives its words, paragraph by paragraph, and its title", () => {
    const page = `<!doctype html><html><head><title> The  &amp; well </title><style>p{color:red}</style></head><body><!-- not <b>this</b> -->
      <h1>Deep</h1><p>The <b>well</b> is deep,\n and cold.<p>Second&nbsp;one<br>with a break<ul><li>one<li>two</ul><script>alert("no")</script></body>`;
    expect(readHtml(page)).toEqual({
      title: "The & well",
      text: "Deep\n\nThe well is deep, and cold.\n\nSecond one\nwith a break\n\none\ntwo",
    });
  });

  test("is not run, whatever it holds", () => {
    const page = `<img src="/api/me" alt="a > b" onerror="steal()">x<iframe srcdoc="<p>hidden</p>"></iframe><svg><text>no</text></svg>y &lt;script&gt; 1 < 2 <3`;
    expect(readHtml(page).text).toBe("xy <script> 1 < 2 <3");
  });

  test("that never ends is read in a moment", () => {
    const began = performance.now();
    for (const hostile of ["<", "<a", "<a ", "<!--", '<a b="', "<script>", "</", "&", "&#", "<title>"])
      readHtml(hostile.repeat(20_000));
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});

test("entities become the characters that they name", () => {
  expect(decodeEntities("&eacute;&#233;&#xe9; &hellip; &unknown; &#0; &#xd800; &#x1F4A7;")).toBe(
    "ééé … &unknown; \ufffd \ufffd 💧",
  );
});

test("the first heading of a Markdown text is its title", () => {
  expect(titleOfMarkdown("\n# The well\n\n# Later")).toBe("The well");
  expect(titleOfMarkdown("## no")).toBe("");
});
