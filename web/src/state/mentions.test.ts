import { describe, expect, it } from "vitest";
import { findMentions, insertMention, mentionAt, offerMentions, rank, type Mention } from "./mentions";

const CONTEXT = { graphId: "workspace", threadId: "t", files: ["/notes/own.md"], root: "" };
const named = (...paths: string[]): Mention[] => paths.map((path) => ({ path, from: "Workspace" }));

describe("where a mention begins", () => {
  const at = (text: string) => mentionAt(text, text.length);
  it("is an @ behind a space or at the start", () => {
    expect(at("@")).toEqual({ start: 0, query: "" });
    expect(at("see @pla")).toEqual({ start: 4, query: "pla" });
    expect(at("see (@/plans/may.md")).toEqual({ start: 5, query: "/plans/may.md" });
    expect(at('see @"my no')).toEqual({ start: 4, query: "my no" });
  });
  it("is no e-mail address, and over when a space is typed", () => {
    expect(at("mail ada@example")).toBeNull();
    expect(at("see @may.md and")).toBeNull();
    expect(at("@@")).toBeNull();
    expect(at('see @"my notes.md" and')).toBeNull();
  });
  it("is looked for before the caret", () => {
    expect(mentionAt("see @pla and more", 8)).toEqual({ start: 4, query: "pla" });
  });
});

describe("files that fit", () => {
  it("stand in the order of how well they do, each once", () => {
    const found = rank(
      named("/b/plan.md", "/plans/x.md", "/a/the plan.md", "/plan.md", "/plan.md", "/other.md"),
      "plan",
    );
    expect(found.map((each) => each.path)).toEqual(["/b/plan.md", "/plan.md", "/a/the plan.md", "/plans/x.md"]);
  });
  it("come from all that know files, also when one fails", async () => {
    const stop = [
      offerMentions(async () => named("/plans/may.md")),
      offerMentions(async () => Promise.reject(new Error("away"))),
    ];
    expect((await findMentions(CONTEXT, "m")).map((each) => each.path)).toEqual(["/plans/may.md", "/notes/own.md"]);
    stop.forEach((each) => each());
    expect((await findMentions(CONTEXT, "")).map((each) => each.path)).toEqual(["/notes/own.md"]);
  });
});

describe("a mention in the text", () => {
  const insert = (text: string, path: string, caret = text.length) =>
    insertMention(text, mentionAt(text, caret)!, caret, path);
  it("takes the place of what was typed", () => {
    expect(insert("see @pla", "/plans/may.md")).toEqual({ text: "see @/plans/may.md ", caret: 19 });
    expect(insert("see @pla please", "/plans/may.md", 8)).toEqual({ text: "see @/plans/may.md please", caret: 19 });
  });
  it("has quotation marks where the server needs them", () => {
    expect(insert("@my", "/my notes/first draft.md").text).toBe('@"/my notes/first draft.md" ');
    expect(insert('@"my', "/my notes.md").text).toBe('@"/my notes.md" ');
    expect(insert("@ü", "/übung.md").text).toBe('@"/übung.md" ');
  });
});
