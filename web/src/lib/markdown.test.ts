import { describe, expect, it } from "vitest";
import { plainText, type Inline } from "./inline";
import { safeHref } from "./links";
import { GrowingMarkdown, headingLevels, parseMarkdown, type Block } from "./markdown";

const inline = (text: string): Inline[] => {
  const block = parseMarkdown(text)[0]!;
  if (block.t !== "p") throw new Error(`a paragraph was expected, not ${block.t}`);
  return block.c;
};
const text = (v: string): Inline => ({ t: "text", v });

describe("blocks", () => {
  it("knows headings, paragraphs, rules, quotes and code", () => {
    const blocks = parseMarkdown("# One\n\ntwo\nlines\n\n---\n\n> quoted\n> **more**\n\n```py\nx = 1\n\ny\n```\nend");
    expect(blocks.map((block) => block.t)).toEqual(["heading", "p", "hr", "quote", "code", "p"]);
    expect(blocks[4]).toEqual({ t: "code", lang: "py", text: "x = 1\n\ny", open: false });
  });

  it("nests lists, and keeps numbers and ticks", () => {
    const [list] = parseMarkdown("3. three\n   - a\n   - b\n\n4. four\n") as [Extract<Block, { t: "list" }>];
    expect([list.ordered, list.start, list.items.length]).toEqual([true, 3, 2]);
    expect(list.items[0]!.c.map((block) => block.t)).toEqual(["p", "list"]);
    const [tasks] = parseMarkdown("- [x] done\n- [ ] open") as [Extract<Block, { t: "list" }>];
    expect(tasks.items.map((item) => item.checked)).toEqual([true, false]);
  });

  it("reads tables with alignment and escaped bars", () => {
    const [table] = parseMarkdown("| a | b |\n|---|--:|\n| 1 \\| 2 | 3 |\n| only |\n") as [
      Extract<Block, { t: "table" }>,
    ];
    expect(table.align).toEqual([null, "right"]);
    expect(table.rows.map((row) => row.map(plainText))).toEqual([
      ["1 | 2", "3"],
      ["only", ""],
    ]);
  });

  it("shows a fence that is still open as code", () => {
    expect(parseMarkdown("```\nhalf")).toEqual([{ t: "code", lang: "", text: "half", open: true }]);
  });
});

describe("inline", () => {
  it("reads emphasis, also inside emphasis", () => {
    expect(inline("**bold *both* bold** and _em_")).toEqual([
      { t: "strong", c: [text("bold "), { t: "em", c: [text("both")] }, text(" bold")] },
      text(" and "),
      { t: "em", c: [text("em")] },
    ]);
    expect(inline("snake_case_name and 2 * 3 * 4")).toEqual([text("snake_case_name and 2 * 3 * 4")]);
    expect(inline("***all***")).toEqual([{ t: "em", c: [{ t: "strong", c: [text("all")] }] }]);
    expect(inline("**open")).toEqual([text("**open")]);
  });

  it("reads code, breaks, entities and escapes", () => {
    expect(inline("`a *b*` ``c ` d``")).toEqual([{ t: "code", v: "a *b*" }, text(" "), { t: "code", v: "c ` d" }]);
    expect(inline("one  \ntwo")).toEqual([text("one"), { t: "br" }, text("two")]);
    expect(inline("\\*no\\* &lt;b&gt;")).toEqual([text("*no* <b>")]);
  });

  it("reads links and bare addresses", () => {
    expect(inline("[a *b*](https://x.example/y_(z))")).toEqual([
      { t: "link", href: "https://x.example/y_(z)", c: [text("a "), { t: "em", c: [text("b")] }] },
    ]);
    expect(inline("see https://x.example/a.")).toEqual([
      text("see "),
      { t: "link", href: "https://x.example/a", c: [text("https://x.example/a")] },
      text("."),
    ]);
  });

  it("reads citations, but not links that look like them", () => {
    expect(inline("so [1] and [2, 3]")).toEqual([
      text("so "),
      { t: "cite", refs: [1] },
      text(" and "),
      { t: "cite", refs: [2, 3] },
    ]);
    expect(inline("[1](https://x.example/)")[0]!.t).toBe("link");
  });

  it("leaves raw HTML as text", () => {
    expect(inline("<img src=x onerror=alert(1)> <b>x</b>")).toEqual([text("<img src=x onerror=alert(1)> <b>x</b>")]);
  });
});

describe("safeHref", () => {
  it.each([
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\nscript:alert(1)",
    "\u0001javascript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "//evil.example",
    "/local",
    "file:///etc/passwd",
    "blob:https://x",
    "http:",
    "https:/\\evil",
  ])("makes %j inert", (address) => {
    expect(safeHref(address)).toBeNull();
  });
  it("keeps http, https and mailto", () => {
    expect(safeHref("https://x.example/?a=b#c")).toBe("https://x.example/?a=b#c");
    expect(safeHref("mailto:a@x.example")).toBe("mailto:a@x.example");
  });
});

const LONG =
  "# T\n\npara **b**\n\n- a\n\n  more\n- b\n  1. c\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n```js\nlet a;\n\n```\n\n> q\n\nend *x";

describe("GrowingMarkdown", () => {
  it("gives the same at every length as parsing from nothing", () => {
    const growing = new GrowingMarkdown();
    for (let end = 1; end <= LONG.length; end++)
      expect(growing.update(LONG.slice(0, end))).toEqual(parseMarkdown(LONG.slice(0, end)));
  });

  it("keeps closed blocks as the same objects", () => {
    const growing = new GrowingMarkdown();
    const first = growing.update("# a\n\nb\n\nc")[0];
    expect(growing.update("# a\n\nb\n\nc and more")[0]).toBe(first);
  });
});

describe("headingLevels", () => {
  it("begins at three and never skips one", () => {
    const blocks = parseMarkdown("### a\n\n# b\n\n#### c\n\n###### d\n\n## e");
    expect(blocks.map((block) => headingLevels(blocks).get(block))).toEqual([3, 3, 4, 5, 4]);
  });
});

/** CPU time of the quickest of seven. */
function cpuOf(work: () => void): number {
  const times = [1, 2, 3, 4, 5, 6, 7].map(() => {
    const begin = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(begin);
    return user + system;
  });
  return Math.min(...times);
}
/** How the time grows when the text is eight times as long: 8 is in step with it, 64 is its square. The first go is for the compiler. */
function growthOf(work: (times: number) => void, times: number): number {
  work(times);
  return (
    cpuOf(() => work(8 * times)) /
    Math.max(
      1,
      cpuOf(() => work(times)),
    )
  );
}
const IN_STEP = 24;

function stream(text: string): void {
  const growing = new GrowingMarkdown();
  for (let end = 100; end < text.length + 100; end += 100) growing.update(text.slice(0, end));
}

describe("a text that grows", { timeout: 120_000 }, () => {
  const KINDS: [name: string, piece: string, before?: string][] = [
    ["emphasis", "*a"],
    ["words", "word "],
    ["lines", "some words\n"],
    ["headings", "# a heading in six words\n"],
    ["items", "- a **b**\n"],
    ["numbered items", "1. a\n"],
    ["rows", "| a | b |\n", "| x | y |\n|---|---|\n"],
    ["code", "let a = 1;\n", "```js\n"],
    ["quoted paragraphs", "> a\n>\n"],
  ];
  it.each(KINDS)("costs in step with its length: %s", (_, piece, before = "") => {
    const text = (chars: number) => before + piece.repeat(chars / piece.length);
    expect(growthOf((chars) => stream(text(chars)), 4_000)).toBeLessThan(IN_STEP);
  });

  it.each(KINDS)("gives the same as parsing from nothing when its blocks are long: %s", (_, piece, before = "") => {
    const text = `${before}${piece.repeat(4_000 / piece.length)}\n\nend *x* \n\n${before}${piece.repeat(2_000 / piece.length)}`;
    const growing = new GrowingMarkdown();
    for (let end = 1; end <= text.length; end += 37) {
      const grown = growing.update(text.slice(0, end));
      if (end % 11 === 0) expect(grown).toEqual(parseMarkdown(text.slice(0, end)));
    }
  });

  it("keeps finished parts of an open block as the same objects", () => {
    const growing = new GrowingMarkdown();
    const items = (count: number) =>
      (growing.update("- an item\n".repeat(count))[0] as Extract<Block, { t: "list" }>).items;
    const [first] = items(600);
    expect(items(601)[0]).toBe(first);
  });
});

describe("long runs of text", () => {
  it("nests no emphasis deeper than anybody means it", () => {
    const depth = (nodes: readonly Inline[]): number =>
      Math.max(0, ...nodes.map((node) => ("c" in node ? 1 + depth(node.c) : 0)));
    const nested = "**a *b ".repeat(200) + "c* d** ".repeat(200);
    expect(depth(inline(nested))).toBeGreaterThan(3);
    expect(depth(inline(nested))).toBeLessThan(20);
  });

  it("keeps every word of a long paragraph, also between its pieces", () => {
    const words = Array.from({ length: 3_000 }, (_, at) => `word${at}`).join(" ");
    expect(plainText(inline(words))).toBe(words);
    expect(plainText(inline("\u{1f600}".repeat(4_000)))).toBe("\u{1f600}".repeat(4_000));
  });
});

describe("hostile texts", { timeout: 120_000 }, () => {
  it.each<[string, (times: number) => string]>([
    ["stars", (times) => "*a ".repeat(times)],
    ["pairs", (times) => "**a* ".repeat(times)],
    ["nested marks", (times) => "**a *b ".repeat(times) + "c* d** ".repeat(times)],
    ["brackets", (times) => "[".repeat(3 * times)],
    ["closed brackets", (times) => "[a](".repeat(times)],
    ["ticks", (times) => "` `` ``` ".repeat(times)],
    ["quotes", (times) => ">".repeat(3 * times)],
    ["lists", (times) => "- ".repeat(times)],
    ["bars", (times) => `${"|".repeat(times)}\n${"-|".repeat(times)}\n${"|".repeat(times)}`],
    ["lines", (times) => "a\n".repeat(times)],
    ["addresses", (times) => "https://x.example/)))) ".repeat(times)],
    ["blank list", (times) => "-\n\n".repeat(times)],
  ])("take time in step with their length: %s", (_, source) => {
    expect(growthOf((times) => parseMarkdown(source(times)), 2_000)).toBeLessThan(IN_STEP);
  });
});
