import { describe, expect, it } from "vitest";
import type { Step, Waiting } from "../state/types";
import { planSteps, traceOf } from "./trace";

const entry = (node: string, summary = node) => ({ node, summary, timestamp: "2026-01-01T00:00:00Z" });
const node = (name: string) => ({ id: name, kind: "node", name, status: "running" }) as Step;
const asks = (type: string) => ({ id: "i", payload: { type } }) as unknown as Waiting;
const states = (nodes: ReturnType<typeof traceOf>) => Object.fromEntries(nodes.map((each) => [each.node, each.state]));

describe("traceOf", () => {
  it("says what is done, what waits and what has not begun", () => {
    const values = { reasoning: [entry("intake"), entry("thinker"), entry("auditor")], status: "awaiting_approval" };
    expect(states(traceOf(values, [], [asks("plan_approval")]))).toEqual({
      intake: "done",
      thinker: "done",
      auditor: "done",
      hitl_gate: "waits",
      tool_executor: "later",
      synthesizer: "later",
    });
  });

  it("forgets what an earlier question did", () => {
    const values = { reasoning: [entry("intake"), entry("thinker"), entry("synthesizer"), entry("intake")], status: "thinking" };
    expect(states(traceOf(values, [node("thinker")], []))).toMatchObject({ intake: "done", thinker: "now", synthesizer: "later" });
  });

  it("marks the last thing that happened when it failed", () => {
    const values = { reasoning: [entry("thinker"), entry("hitl_gate", "Stopped.")], status: "failed" };
    expect(states(traceOf(values, [], []))).toMatchObject({ thinker: "done", hitl_gate: "failed" });
  });
});

describe("planSteps", () => {
  const plan = {
    objective: "o",
    steps: ["a", "b", "c"].map((id) => ({ id, tool: "web_search", input: id, output: id === "a" ? "found 3" : null })),
  };

  it("takes each step's state from what was done", () => {
    const values = {
      plan,
      done_steps: ["a"],
      unreached: { b: { cause: "offline", tried: "duckduckgo: no network", told: "" } },
      status: "executing",
    };
    expect(planSteps(values, [node("tool_executor")])!.steps.map((step) => [step.state, step.output])).toEqual([
      ["done", "found 3"],
      ["failed", "duckduckgo: no network"],
      ["now", ""],
    ]);
    expect(planSteps(values, [])!.steps[2]!.state).toBe("later");
    expect(planSteps({}, [])).toBe(null);
  });

  it("lists the searches that followed, and what they came from", () => {
    const followed = [{ id: "f", tool: "web_search", input: "Ann Lee", rationale: "named in survey", output: "Found 2 pages." }];
    expect(planSteps({ plan, followed }, [])!.followed).toEqual([{ id: "f", tool: "web_search", input: "Ann Lee", state: "done", output: "named in survey. Found 2 pages." }]);
    expect(planSteps({ plan }, [])!.followed).toEqual([]);
  });
});
