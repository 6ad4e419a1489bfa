import { describe, expect, it } from "vitest";
import { emptyView, reduce } from "../state/reduce";
import type { Waiting } from "../state/types";
import {
  answerWith,
  hintLevel,
  linkWords,
  nameOf,
  openQuestion,
  outlineOf,
  readArgument,
  readProgress,
  statusWords,
  type Argument,
  type Entry,
} from "./argument";
import { BOX, layOut, wrap } from "./layout";
import { diffWords } from "./words";

const DATA = {
  question: "Should schools give marks?",
  phase: "reply",
  terms: ["marks"],
  nodes: {
    t1: {
      kind: "thesis",
      text: "Schools should not give marks.",
      status: "challenged",
      author: "user",
      confidence: 60,
    },
    d1: { kind: "definition", text: "Numbers that compare pupils.", status: "held", author: "user", term: "marks" },
    c1: {
      kind: "citation",
      text: "A mark keeps pupils from the comment.",
      status: "held",
      author: "user",
      source: "notes",
    },
    n1: { kind: "narrative", text: "I saw it.", status: "held", author: "user" },
    r1: { kind: "refutation", text: "Parents learn too late.", status: "held", author: "user" },
    p1: { kind: "reply", text: "A comment tells more.", status: "held", author: "tutor" },
    n2: { kind: "narrative", text: "Not placed.", status: "withdrawn", author: "user" },
  },
  links: {
    "c1 supports t1": "What is not read does not teach.",
    "n1 supports c1": "",
    "r1 attacks t1": "Help comes too late.",
    "p1 answers r1": "",
    "p1 uses c1": "",
  },
  versions: [
    { text: "No marks.", confidence: 60, phase: "frame" },
    { text: "No marks before ten.", confidence: 75, phase: "revise" },
  ],
  moves: [
    { by: "tutor", move: "hint", phase: "reply", about: "r1", text: "What do you say to objection 1?", level: 2 },
    { by: "tutor", move: "ask", phase: "reply", about: "r1", text: "What do you say to objection 1?", level: 0 },
  ],
};
const argument = readArgument(DATA)!;
const asking = (payload: Record<string, unknown>) => [
  { id: "i1", payload: { type: "clarification_request", ...payload } } as unknown as Waiting,
];
const shape = (entry: Entry): unknown => [entry.clause.id, ...entry.below.map(shape)];

describe("the outline", () => {
  it("puts grounds, objections and replies below what they bear on", () => {
    const { entries, unplaced } = outlineOf(argument);
    expect(entries.map(shape)).toEqual([["t1", ["c1", ["n1"]], ["r1", ["p1"]]], ["d1"]]);
    expect(unplaced.map(shape)).toEqual([["n2"]]);
    const reply = entries[0]!.below[1]!.below[0]!;
    expect(reply.others.map((link) => `${link.relation} ${link.target}`)).toEqual(["uses c1"]);
  });
  it("has each clause once, also in a circle", () => {
    const circle = readArgument({
      ...DATA,
      links: { "c1 supports n1": "", "n1 supports c1": "", "c1 supports t1": "", "n1 supports t1": "" },
    })!;
    const { entries, unplaced } = outlineOf(circle);
    const ids = [...entries, ...unplaced].flatMap((entry) => JSON.stringify(shape(entry)).match(/\w\d/g) ?? []);
    expect([...ids].sort()).toEqual(Object.keys(DATA.nodes).sort());
  });
  it("says statuses in words", () => {
    const words = (id: string) => statusWords(argument.clauses.find((clause) => clause.id === id)!);
    expect(words("t1")).toBe("you are 60 % sure, an objection stands against it");
    expect(words("p1")).toBe("in the tutor’s words");
    expect(words("c1")).toBe("");
  });
  it("gives every clause a name, and no id", () => {
    const names = argument.clauses.map((clause) => nameOf(argument, clause.id));
    expect(names).toEqual([
      "your claim",
      "your definition of “marks”",
      "reason 1",
      "reason 2",
      "objection 1",
      "reply 1",
      "reason 3",
    ]);
    expect(argument.links.map((link) => linkWords(argument, link))).toEqual([
      "supports your claim",
      "supports reason 1",
      "speaks against your claim",
      "replies to objection 1",
      "rests on reason 1",
    ]);
  });
  it("leaves out what it does not understand", () => {
    expect(
      readArgument({ nodes: { x1: { kind: "spell" }, y: 3 }, links: { "a b": "", "x1 supports t1": "" } }),
    ).toMatchObject({ clauses: [], links: [] });
    expect(readArgument(null)).toBeNull();
    expect(readProgress({ phases: "none" })).toBeNull();
  });
});

describe("a thread's values", () => {
  it("keep the whole argument while steps tell what they changed of it", () => {
    const before = reduce(emptyView("t"), { type: "snapshot", snapshot: { values: { argument: DATA } } });
    const update = { take: { argument: { phase: "revise", moves: [] }, progress: { phase: "revise", phases: [] } } };
    const after = reduce(before, { type: "events", events: [{ seq: 1, event: "updates", data: update, at: 0 }] });
    expect(readArgument(after.values["argument"])).toEqual(argument);
    expect(after.values["progress"]).toEqual(update.take.progress);
  });
});

describe("progress", () => {
  it("says where each phase stands", () => {
    const phases = [
      { name: "frame", about: "a", missing: [] },
      { name: "define", about: "b", missing: ["What “marks” means is missing."] },
      { name: "grounds", about: "c", missing: ["There is no reason for your claim yet."] },
      { name: "warrant", about: "d", missing: [] },
    ];
    const places = (more: object) => readProgress({ phases, ...more })!.phases.map((phase) => phase.place);
    expect(places({ phase: "grounds" })).toEqual(["done", "open again", "now", "later"]);
    expect(places({ phase: "grounds", complete: true })).toEqual(["done", "open again", "open again", "done"]);
  });
  it("counts hints by question, and by subject where a model asks in its own words", () => {
    const level = (payload: Record<string, unknown>) => hintLevel(argument, openQuestion(asking(payload)), "r1");
    expect(level({ question: "What do you say to objection 1?", node: "r1" })).toBe(2);
    expect(level({ question: "Why?", node: "r1" })).toBe(0);
    expect(level({ question: "In other words?" })).toBe(2);
    expect(hintLevel(argument, openQuestion([]), "r1")).toBe(0);
  });
  it("answers a question in its form", () => {
    expect(answerWith(openQuestion(asking({ question: "?" }))!, "/tell")).toEqual({ response: "/tell" });
    expect(answerWith(openQuestion(asking({ question: "?", options: [{ id: "a" }] }))!, "/tell")).toEqual({
      selected: [],
      freeform: "/tell",
    });
    expect(openQuestion([{ id: "i", payload: { type: "client_tool_execution" } } as unknown as Waiting])).toBeNull();
  });
});

describe("the change of a thesis", () => {
  it("is shown word by word", () => {
    expect(diffWords("Cities should ban cars.", "Cities should tax cars now.")).toEqual([
      { sign: " ", text: "Cities should" },
      { sign: "-", text: "ban cars." },
      { sign: "+", text: "tax cars now." },
    ]);
    expect(diffWords("No marks before ten", "No marks")).toEqual([
      { sign: " ", text: "No marks" },
      { sign: "-", text: "before ten" },
    ]);
    expect(diffWords("", "")).toEqual([]);
  });
  it("puts both texts together again", () => {
    const [before, after] = ["a b c d a b", "b a d c b a e"];
    const side = (sign: string) =>
      diffWords(before, after)
        .filter((piece) => piece.sign !== sign)
        .map((piece) => piece.text)
        .join(" ");
    expect([side("+"), side("-")]).toEqual([before, after]);
  });
});

describe("the graph", () => {
  const overlap = (drawing: ReturnType<typeof layOut>) =>
    drawing.boxes.some((one, at) =>
      drawing.boxes
        .slice(at + 1)
        .some((two) => Math.abs(one.x - two.x) < BOX.width && Math.abs(one.y - two.y) < BOX.height),
    );
  it("has a box for each clause and a line for each link, none on another", () => {
    const drawing = layOut(argument);
    expect(drawing.boxes.map((box) => box.clause.id).sort()).toEqual(Object.keys(DATA.nodes).sort());
    expect(drawing.lines).toHaveLength(Object.keys(DATA.links).length);
    expect(overlap(drawing)).toBe(false);
    expect(Math.max(...drawing.boxes.map((box) => box.x + BOX.width))).toBe(drawing.width);
    expect(Math.max(...drawing.boxes.map((box) => box.y + BOX.height))).toBe(drawing.height);
  });
  it("holds five hundred clauses", () => {
    const ids = Array.from({ length: 500 }, (_, at) => `n${at}`);
    const large: Argument = {
      ...argument,
      clauses: ids.map((id) => ({ ...argument.clauses[3]!, id })),
      links: ids
        .slice(1)
        .map((id, at) => ({ source: id, relation: "supports" as const, target: ids[at >> 1]!, because: "" })),
    };
    expect(overlap(layOut(large))).toBe(false);
  });
  it("wraps and cuts its texts", () => {
    expect(wrap("one two three four five", 2, 9)).toEqual(["one two", "three…"]);
    expect(wrap("abcdefghij", 3, 4)).toEqual(["abcd", "efgh", "ij"]);
    expect(wrap("")).toEqual([]);
  });
});
