import { describe, expect, it } from "vitest";
import type { Step } from "../state/types";
import { planSteps } from "./trace";

const node = (name: string) => ({ id: name, kind: "node", name, status: "running" }) as Step;

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
    const followed = [
      { id: "f", tool: "web_search", input: "Ann Lee", rationale: "named in survey", output: "Found 2 pages." },
    ];
    expect(planSteps({ plan, followed }, [])!.followed).toEqual([
      { id: "f", tool: "web_search", input: "Ann Lee", state: "done", output: "named in survey. Found 2 pages." },
    ]);
    expect(planSteps({ plan }, [])!.followed).toEqual([]);
  });
});
