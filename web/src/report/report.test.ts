import { describe, expect, it } from "vitest";
import measured from "../../../src/stepwell/research/audit/levels.json";
import type { Claim, Quote, Report, Verdict, Verified } from "./evidence";
import { codeUnits, evidenceOf, excerpt, readReport as read, skippedIn, type Block, type Readable } from "./reading";
import {
  LEVELS,
  meaningOf,
  METHOD,
  problemOf,
  shareOf,
  shortHash,
  signatureOf,
  standingOf,
  summaryOf,
} from "./wording";

const claim = (id: string, text: string, more: Partial<Claim> = {}): Claim => ({
  claim_id: id,
  text,
  verdict: "supported",
  reasons: [],
  evidence: [],
  in_report: true,
  ...more,
});
const readReport = (report: Partial<Readable>) =>
  read({ report: "", claims: [], quotes: [], references: [], ...report });
const textOf = (block: Block) => block.sentences.map((each) => each.text).join("|");
const claims = (blocks: Block[]) =>
  blocks.flatMap((block) => block.sentences.map((each) => each.claim?.claim_id ?? null));

const MARKDOWN = `# Quotes from the sources

> **These are quotes.** No model wrote this.
> Really.

## Length

- The bridge is 1,025 metres long [1]. It carries a tramway [1, 2]. *(not settled)*
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
      claim("c3", "It is the longest.", { verdict: "contradicted", in_report: false, evidence: ["e1"] }),
      claim("c4", "It was opened in 1981."),
    ],
  };
  const blocks = readReport(report);

  it("knows each sentence with its references, and puts back those that differ from their source", () => {
    const item = blocks.find((block) => block.kind === "item")!;
    expect(item.sentences.map((each) => [each.claim?.claim_id, each.text, each.out ?? false])).toEqual([
      ["c1", "The bridge is 1,025 metres long [1].", false],
      ["c2", "It carries a tramway [1, 2].", false],
      ["c3", "It is the longest.", true],
    ]);
    expect(claims(blocks).filter(Boolean)).toEqual(["c1", "c2", "c3", "c4"]);
  });

  it("names the sources of a sentence that was left out", () => {
    const quote = { quote_id: "e1", source_id: "s2" } as Quote;
    const cited = readReport({ ...report, quotes: [quote], references: ["s1", "s2"] });
    expect(cited.flatMap((block) => block.sentences).find((each) => each.out)?.text).toBe("It is the longest [2].");
  });

  it("cuts a note about a sentence's level, with or without a reason", () => {
    for (const note of ["(not settled: the source does not say “tramway”)", "(differs)"]) {
      const told = MARKDOWN.replace("(not settled)", note);
      const item = readReport({ ...report, report: told }).find((block) => block.kind === "item")!;
      expect(item.sentences[1]).toMatchObject({ claim: { claim_id: "c2" }, text: "It carries a tramway [1, 2]." });
    }
  });

  it("keeps sentences that are not in their source out of the text", () => {
    const out = claim("c2", "It is old.", { verdict: "unsupported", in_report: false });
    expect(claims(readReport({ report: "It is long [1].", claims: [claim("c1", "It is long."), out] }))).toEqual([
      "c1",
    ]);
  });

  it("puts a first sentence that differs before the next one", () => {
    const out = claim("c1", "It is old.", { verdict: "contradicted", in_report: false });
    expect(claims(readReport({ report: "It is long [1].", claims: [out, claim("c2", "It is long.")] }))).toEqual([
      "c1",
      "c2",
    ]);
  });

  it("reads citations of pages as numbers", () => {
    const linked = readReport({
      report: "It is long [s7](https://a.example/) [s9].",
      claims: [claim("c1", "It is long.")],
      references: ["s7", "s9"],
    });
    expect(linked[0]!.sentences).toMatchObject([{ claim: { claim_id: "c1" }, text: "It is long [1] [2]." }]);
  });

  it("reads each of 2,000 sentences once", () => {
    const many = Array.from({ length: 2000 }, (_, at) => claim(`c${at}`, `Sentence number ${at} says a thing.`));
    const text = many.map((each) => `${each.text.slice(0, -1)} [1].`);
    const paragraphs = Array.from({ length: 200 }, (_, at) => text.slice(at * 10, at * 10 + 10).join(" "));
    expect(claims(readReport({ report: paragraphs.join("\n\n"), claims: many }))).toEqual(
      many.map((each) => each.claim_id),
    );
  });

  it("leaves out what the page shows itself", () => {
    expect(blocks.map((block) => block.kind)).toEqual(["heading", "note", "heading", "item", "item"]);
    expect(textOf(blocks[1]!)).toBe("**These are quotes.** No model wrote this. Really.");
  });

  it("reads what was skipped from its section", () => {
    expect(
      skippedIn("Text.\n\n## What was skipped\n\n- Step 2: a ceiling.\n- A page.\n\n## Sources\n\n- no\n"),
    ).toEqual(["Step 2: a ceiling.", "A page."]);
    expect(skippedIn(MARKDOWN)).toEqual([]);
  });

  it("keeps what it cannot match as plain text", () => {
    const other = readReport({ report: "Something else [3]. And `code`.", claims: [claim("c1", "Not there.")] });
    expect(claims(other)).toEqual([null]);
    expect(textOf(other[0]!)).toBe("Something else [3]. And `code`.");
  });

  it("gives a sentence that is said twice to two claims", () => {
    expect(
      claims(readReport({ report: "Yes [1]. Yes [2].", claims: [claim("c1", "Yes."), claim("c2", "Yes.")] })).filter(
        Boolean,
      ),
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
  const quote: Quote = {
    quote_id: "e1",
    source_id: "s1",
    start: 2,
    end: 12,
    text: "The bridge",
    place: null,
    passage: null,
  };

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
    const report = {
      quotes: [quote],
      references: ["s0", "s1"],
      sources: [{ source_id: "s1" }],
      claims: [],
    } as unknown as Report;
    expect(
      evidenceOf(report, claim("c", "x", { evidence: ["e1", "e9"] })).map((each) => [each.quote.quote_id, each.number]),
    ).toEqual([["e1", 2]]);
  });
});

describe("words", () => {
  const [differs, missing] = [
    claim("d", "d", {
      verdict: "contradicted",
      in_report: false,
      evidence: ["e1"],
      reasons: ["the claim says '38 metres', the source '28 metres'"],
    }),
    claim("m", "m", { verdict: "unsupported", in_report: false, evidence: ["e1"], reasons: ["it shares no word"] }),
  ];

  it("say what was checked", () => {
    const partly = claim("b", "b", { verdict: "partial" });
    expect(summaryOf({ claims: [claim("a", "a"), claim("b", "b", { verdict: "verbatim" })] })).toBe(
      "Every sentence is supported by its source: 2 of 2.",
    );
    expect(summaryOf({ claims: [claim("a", "a"), claim("b", "b"), partly, differs, missing] })).toBe(
      "2 of 5 sentences are supported by their sources; 1 is not settled, 1 differs, 1 is not in its source.",
    );
    expect(summaryOf({ claims: [claim("a", "a"), { ...missing, in_report: true }] })).toBe(
      "1 of 2 sentences is supported by its source; 1 is not in its source.",
    );
    expect(summaryOf({ claims: [] })).toBe("");
    expect(shortHash("9f2c71aa04d8ffff")).toBe("9f2c 71aa 04d8…");
  });

  it("say what is wrong with a sentence", () => {
    const because = (verdict: Claim["verdict"], ...reasons: string[]) =>
      problemOf(claim("x", "x", { verdict, reasons, evidence: ["e1"] }));
    expect(problemOf(differs)).toBe("Differs: “38 metres”; the source says “28 metres”.");
    expect(because("contradicted", "the source says 'red', not 'green'")).toBe(
      "Differs: the source says “red”, not “green”.",
    );
    expect(because("partial", "the source does not say 'Ada's mill'")).toBe(
      "Not settled: the source does not say “Ada's mill”.",
    );
    expect(problemOf(missing)).toBe("Not in its source.");
    expect(problemOf({ ...missing, evidence: [] })).toBe("It names no source.");
    expect(problemOf(claim("a", "a"))).toBe("");
  });

  it("say what a source supports", () => {
    const source = { source_id: "s1" };
    const standing = (...all: Claim[]) =>
      standingOf({ claims: all, quotes: [{ quote_id: "e1", source_id: "s1" }] } as unknown as Report, source as never);
    const supported = claim("a", "a", { evidence: ["e1"] });
    expect(standing(supported)).toEqual({ words: "Supports 1 sentence", tone: "good" });
    expect(standing(supported, supported, differs)).toEqual({
      words: "Supports 2 sentences, differs from 1",
      tone: "warn",
    });
    expect(standing(supported, claim("p", "p", { verdict: "partial", evidence: ["e1"] })).words).toBe(
      "Supports 1 sentence, does not settle 1",
    );
    expect(standing(differs)).toEqual({ words: "Differs from 1 sentence", tone: "warn" });
  });
});

describe("levels", () => {
  it("have the figures that were measured", () => {
    const { true: share, lowest, highest } = measured.levels.supported;
    expect(shareOf("supported")).toBe(`${share} (${lowest} to ${highest})`);
    expect(meaningOf("supported")).toBe(
      `On public data, ${share} of 100 such sentences are true (${lowest} to ${highest}).`,
    );
    expect(METHOD).toContain(`for a writer who is right ${measured.right} % of the time`);
    for (const verdict of Object.keys(LEVELS) as Verdict[])
      expect(meaningOf(verdict)).toMatch(
        measured.levels[verdict].true === null ? /^Not measured/ : /^On public data, \d+ of 100 /,
      );
  });
});

describe("signatureOf", () => {
  const checked: Verified = {
    ok: true,
    head: "",
    parts: [],
    counts: { sources: 0, quotes: 0, claims: 0, elsewhere: 0 },
    format: "4",
    lacks: [],
    notes: [],
    marked_today: [],
  };
  it("says who vouches, and that a key alone says little", () => {
    expect(signatureOf(checked)).toBe("");
    expect(signatureOf({ ...checked, signed_by: "ed25519:x", vouched: null })).toContain("Anybody can make one");
    expect(signatureOf({ ...checked, signed_by: "ed25519:x", vouched: true })).toContain("the key that you named");
  });
});
