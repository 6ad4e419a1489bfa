import { describe, expect, it } from "vitest";
import type { Claim, Quote, Report } from "./evidence";
import { codeUnits, evidenceOf, excerpt, readReport, skippedIn, type Block } from "./reading";
import { shortHash, signatureOf, summaryOf } from "./wording";

const claim = (id: string, text: string, more: Partial<Claim> = {}): Claim => ({
  claim_id: id,
  text,
  verdict: "supported",
  reasons: [],
  evidence: [],
  in_report: true,
  ...more,
});
const textOf = (block: Block) => block.sentences.map((each) => each.text).join("|");
const claims = (blocks: Block[]) => blocks.flatMap((block) => block.sentences.map((each) => each.claim?.claim_id ?? null));

const MARKDOWN = `# Quotes from the sources

> **These are quotes.** No model wrote this.
> Really.

## Length

- The bridge is 1,025 metres long [1]. It carries a tramway [1, 2]. *(partly supported)*
- It was opened in 1981 [2].

*One sentence was left out because the evidence does not support what was said.*

## Sources

1. [A bridge](https://a.example/), fetched today
`;

describe("readReport", () => {
  const report = {
    report: MARKDOWN,
    claims: [
      claim("c1", "The bridge is 1,025 metres long."),
      claim("c2", "It carries a tramway.", { verdict: "partial" }),
      claim("c3", "It is the longest.", { verdict: "unsupported", in_report: false }),
      claim("c4", "It was opened in 1981."),
    ],
  };
  const blocks = readReport(report);

  it("knows each sentence with its references and its note", () => {
    const item = blocks.find((block) => block.kind === "item")!;
    expect(item.sentences.map((each) => [each.claim?.claim_id, each.text])).toEqual([
      ["c1", "The bridge is 1,025 metres long [1]."],
      ["c2", "It carries a tramway [1, 2]. *(partly supported)*"],
    ]);
  });

  it("knows a note that says what is missing", () => {
    const told = MARKDOWN.replace("(partly supported)", "(partly supported: the source does not say 'tramway')");
    const item = readReport({ ...report, report: told }).find((block) => block.kind === "item")!;
    expect(item.sentences[1]).toMatchObject({
      claim: { claim_id: "c2" },
      text: "It carries a tramway [1, 2]. *(partly supported: the source does not say 'tramway')*",
    });
  });

  it("finds every claim that stands in the report, and no other", () => {
    expect(claims(blocks).filter(Boolean)).toEqual(["c1", "c2", "c4"]);
  });

  it("leaves out the sections that the page shows itself", () => {
    expect(blocks.map((block) => block.kind)).toEqual(["heading", "note", "heading", "item", "item", "paragraph"]);
    expect(textOf(blocks[1]!)).toBe("**These are quotes.** No model wrote this. Really.");
  });

  it("reads what was skipped from its section", () => {
    expect(skippedIn("Text.\n\n## What was skipped\n\n- Step 2: a ceiling.\n- A page.\n\n## Sources\n\n- no\n")).toEqual([
      "Step 2: a ceiling.",
      "A page.",
    ]);
    expect(skippedIn(MARKDOWN)).toEqual([]);
  });

  it("keeps what it cannot match as plain text", () => {
    const other = readReport({ report: "Something else [3]. And `code`.", claims: [claim("c1", "Not there.")] });
    expect(claims(other)).toEqual([null]);
    expect(textOf(other[0]!)).toBe("Something else [3]. And `code`.");
  });

  it("gives a sentence that is said twice to two claims", () => {
    expect(
      claims(readReport({ report: "Yes [1]. Yes [2].", claims: [claim("c1", "Yes."), claim("c2", "Yes.")] })).filter(Boolean),
    ).toEqual(["c1", "c2"]);
  });

  it("takes code as it is", () => {
    expect(readReport({ report: "```\n# no heading [1]\n```", claims: [] })).toEqual([
      { kind: "code", level: 0, sentences: [{ claim: null, text: "# no heading [1]" }] },
    ]);
  });
});

describe("quotes", () => {
  const text = "👍 The bridge, 1,025 metres long, stands.";
  const quote: Quote = { quote_id: "e1", source_id: "s1", start: 2, end: 12, text: "The bridge", place: null, passage: null };

  it("are counted in code points", () => {
    expect(text.slice(...codeUnits(text, 2, 12))).toBe("The bridge");
    expect(excerpt(text, quote, 100)).toEqual({
      before: "👍 ",
      quote: "The bridge",
      after: ", 1,025 metres long, stands.",
      cut: [false, false],
      fits: true,
    });
  });

  it("that do not stand there are said so", () => {
    expect(excerpt(text, { ...quote, text: "Another" }, 5).fits).toBe(false);
  });

  it("lead to their sources and numbers", () => {
    const report = { quotes: [quote], references: ["s0", "s1"], sources: [{ source_id: "s1" }], claims: [] } as unknown as Report;
    expect(
      evidenceOf(report, claim("c", "x", { evidence: ["e1", "e9"] })).map((each) => [each.quote.quote_id, each.number]),
    ).toEqual([["e1", 2]]);
  });
});

describe("words", () => {
  it("sum up what holds", () => {
    const report = {
      claims: [claim("a", "a"), claim("b", "b", { verdict: "partial" }), claim("c", "c", { in_report: false })],
    } as Report;
    expect(summaryOf(report)).toBe("1 of 2 sentences hold, 1 partly; one was left out.");
    expect(shortHash("9f2c71aa04d8ffff")).toBe("9f2c 71aa 04d8…");
  });
});

describe("signatureOf", () => {
  const checked = { ok: true, head: "", parts: [], counts: { sources: 0, quotes: 0, claims: 0, elsewhere: 0 } };
  it("says who vouches, and that a key alone says little", () => {
    expect(signatureOf(checked)).toBe("");
    expect(signatureOf({ ...checked, signed_by: "ed25519:x", vouched: null })).toContain("Anybody can make one");
    expect(signatureOf({ ...checked, signed_by: "ed25519:x", vouched: true })).toContain("the key that you named");
  });
});
