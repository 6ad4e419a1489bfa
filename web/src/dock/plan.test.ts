import { describe, expect, it } from "vitest";
import { asObject } from "../lib/json";
import {
  addStep,
  afterWords,
  editAnswer,
  emptyDraft,
  estimateWords,
  followUpWords,
  formWords,
  isChanged,
  moveStep,
  planFaults,
  readAudit,
  rejectAnswer,
  removeStep,
  sendsWords,
  toolsFor,
} from "./plan-editing";
import { leadWords, readPlan } from "./plan";

const WIRE = {
  objective: "How long is it?",
  steps: [
    { id: "s1", tool: "web_search", input: "length", rationale: "asked", dependsOn: [], output: null },
    { id: "s2", tool: "fetch_page", input: "https://a.example/", rationale: "", dependsOn: ["s1"], output: null },
  ],
  estimatedTokenBudget: 10,
  revision: 1,
};
const plan = readPlan(WIRE)!;

describe("plan", () => {
  it("reads both spellings", () => {
    const snake = {
      ...WIRE,
      steps: WIRE.steps.map(({ dependsOn, ...step }) => ({ ...step, depends_on: dependsOn })),
      estimated_token_budget: 10,
    };
    expect(readPlan(snake)).toEqual(plan);
    expect(readPlan(null)).toBe(null);
  });

  it("is unchanged until something is edited", () => {
    const draft = emptyDraft(plan);
    expect(isChanged(plan, draft)).toBe(false);
    draft.steps[0]!.input = "width";
    expect(isChanged(plan, draft)).toBe(true);
    expect(plan.steps[0]!.input).toBe("length");
  });

  it("has a length and sections, which can be edited and cleared", () => {
    const formed = readPlan({ ...WIRE, words: 200, outline: ["Length", "Cost"] })!;
    expect(formWords(formed)).toBe("The report: about 200 words; sections: Length, Cost.");
    expect(formWords(plan)).toBe("");
    const draft = emptyDraft(formed);
    expect(isChanged(formed, draft)).toBe(false);
    draft.outline = "Cost\n\n Length ";
    expect(isChanged(formed, draft)).toBe(true);
    expect(editAnswer(formed, draft)).toMatchObject({ plan: { words: 200, outline: ["Cost", "Length"] } });
    const bare = editAnswer(formed, { ...draft, words: null, outline: "" });
    expect(Object.keys(asObject(asObject(bare).plan))).not.toContain("words");
    expect([...planFaults({ ...draft, words: 7 })]).toEqual([[-1, "A report has from 20 to 5,000 words."]]);
    expect([...planFaults({ ...draft, outline: "a\nb\nc\nd\ne\nf\ng" })]).toEqual([
      [-1, "A report has at most 6 sections."],
    ]);
  });

  it("forgets a removed step also where others wait for it", () => {
    expect(removeStep(plan.steps, 0).map((step) => [step.id, step.dependsOn])).toEqual([["s2", []]]);
  });

  it("moves steps within its ends", () => {
    expect(moveStep(plan.steps, 1, -1).map((step) => step.id)).toEqual(["s2", "s1"]);
    expect(moveStep(plan.steps, 0, -1)).toBe(plan.steps);
  });

  it("sends an edited plan with ids for steps it knows and none for new ones", () => {
    const draft = {
      ...emptyDraft(plan),
      steps: addStep(plan.steps).map((step, at) => (at === 2 ? { ...step, input: " more " } : step)),
    };
    expect(editAnswer(plan, draft)).toEqual({
      decision: "edit",
      plan: {
        objective: "How long is it?",
        estimatedTokenBudget: 10,
        revision: 1,
        steps: [
          { id: "s1", tool: "web_search", input: "length", rationale: "asked", dependsOn: [] },
          { id: "s2", tool: "fetch_page", input: "https://a.example/", rationale: "", dependsOn: ["s1"] },
          { tool: "web_search", input: "more", rationale: "", dependsOn: [] },
        ],
      },
    });
  });

  it("says in the demo that its own pages are searched, for there is no web", () => {
    expect(leadWords("web_search", "research_demo")).toBe("Search the demo's own pages for");
    expect(leadWords("web_search", "research")).toBe("Search the web for");
  });

  describe("of the person's documents", () => {
    const step = (tool: string) => ({ id: tool, tool, input: "beams", rationale: "", dependsOn: [], output: null });
    const local = readPlan({ ...WIRE, steps: [step("search_documents")], followUps: 2 })!;

    it("offers no search of the web, and others offer documents only if they search some", () => {
      const offered = (...tools: string[]) => toolsFor(readPlan({ ...WIRE, steps: tools.map(step) })!);
      expect(offered("search_documents")).toEqual(["search_documents"]);
      expect(offered("search_documents", "web_search")).toEqual(["web_search", "fetch_page", "search_documents"]);
      expect(offered("web_search")).toEqual(["web_search", "fetch_page"]);
      expect(addStep(local.steps)[1]!.tool).toBe("search_documents");
      expect(addStep([])[0]!.tool).toBe("web_search");
    });

    it("says what leaves, as the server does", () => {
      expect(sendsWords({ requests: 0, sends: "Nothing will leave the machine." })).toBe(
        "Nothing will leave the machine.",
      );
      expect(sendsWords(undefined)).toBe("");
    });

    it("sends another number of further searches, if the server knows them", () => {
      const draft = { ...emptyDraft(local), followUps: 0 };
      expect(isChanged(local, draft)).toBe(true);
      expect(editAnswer(local, draft)).toMatchObject({ plan: { followUps: 0 } });
      expect(editAnswer(plan, emptyDraft(plan))).not.toHaveProperty("plan.followUps");
      expect([...planFaults({ ...draft, followUps: 5 })]).toEqual([[-1, "At most 4 searches may follow."]]);
      expect(readPlan({ ...WIRE, follow_ups: 1 })!.followUps).toBe(1);
    });

    it("says in words how many searches may follow", () => {
      expect([followUpWords(null), followUpWords(0), followUpWords(1), followUpWords(3)]).toEqual([
        "",
        "No further searches follow.",
        "Up to 1 more search may follow for names found in the first ones.",
        "Up to 3 more searches may follow for names found in the first ones.",
      ]);
    });
  });

  it("says what cannot be sent", () => {
    const draft = emptyDraft(plan);
    draft.steps = addStep(draft.steps);
    draft.steps[1]!.input = "a.example";
    expect([...planFaults(draft)]).toEqual([
      [1, "An address begins with https:// or http://."],
      [2, "Write what to search for."],
    ]);
    expect(planFaults({ ...draft, steps: [] }).has(-1)).toBe(true);
    expect(planFaults({ ...draft, steps: Array(7).fill(plan.steps[0]) }).get(-1)).toBe("A plan has at most 6 steps.");
  });

  it("stops, or asks for another plan", () => {
    expect(rejectAnswer(" too wide ", false)).toEqual({ decision: "reject", reason: "too wide" });
    expect(rejectAnswer("", true)).toEqual({ decision: "reject", reason: "", stop: true });
  });

  it("words the estimate, the order and the rules", () => {
    expect(estimateWords({ requests: 14, tokens: 1, costUsd: null })).toBe(
      "At most 14 requests · 1 token · price not known",
    );
    expect(estimateWords({ requests: 0, tokens: 8000, costUsd: 0 })).toBe(
      "No requests to the web · about 8,000 tokens to the model · 0.00 USD",
    );
    expect(estimateWords({ requests: 1, tokens: 5000, costUsd: 0.021 })).toBe(
      "At most 1 request · 5,000 tokens · 0.02 USD",
    );
    expect(afterWords(plan.steps[1]!, plan.steps)).toBe("after step 1");
    expect(
      readAudit(
        { verdict: "rejected", violations: [{ rule: "outgoing", reason: "names a person" }], leftToTheHuman: ["J1"] },
        { J1: "Serves the question." },
      ),
    ).toEqual({
      verdict: "rejected",
      violations: [{ rule: "outgoing", reason: "names a person" }],
      suggestions: [],
      yours: [{ rule: "J1", text: "Serves the question." }],
    });
  });
});
