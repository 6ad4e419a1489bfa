/** A research thread: what came of each step of its plan, and what its nodes said of their work. */

import { readPlan, readStep, type Plan } from "../dock/plan";
import { asObject, isObject, textOf, textsOf, type JsonObject } from "../lib/json";
import type { Step } from "../state/types";
import type { Saying } from "./activity";

export type StepState = "done" | "now" | "failed" | "later";

export interface PlanStepState {
  id: string;
  tool: string;
  input: string;
  state: StepState;
  /** What came of it, or why nothing did. */
  output: string;
}

export const STATE_WORDS: Record<StepState, string> = {
  done: "done",
  now: "working",
  failed: "failed",
  later: "not started",
};

export function planSteps(
  values: JsonObject,
  steps: readonly Step[],
): { plan: Plan; steps: PlanStepState[]; followed: PlanStepState[] } | null {
  const plan = readPlan(values.plan);
  if (!plan) return null;
  const done = new Set(textsOf(values.done_steps));
  const unreached = asObject(values.unreached);
  const working =
    textOf(values.status) === "executing" &&
    steps.some((step) => step.kind === "node" && step.name === "tool_executor" && step.status === "running");
  const followed = Array.isArray(values.followed) ? values.followed.filter(isObject).map(readStep) : [];
  return {
    plan,
    followed: followed.map(({ id, tool, input, rationale, output }) => ({
      id,
      tool,
      input,
      state: "done",
      output: [rationale, output].filter(Boolean).join(". "),
    })),
    steps: plan.steps.map((step) => {
      const missed = asObject(unreached[step.id]);
      const state: StepState =
        step.id in unreached ? "failed" : done.has(step.id) || step.output ? "done" : working ? "now" : "later";
      return {
        id: step.id,
        tool: step.tool,
        input: step.input,
        state,
        output: textOf(missed.tried) || (step.output ?? ""),
      };
    }),
  };
}

/** What the nodes said, of all questions, with when: for the lines of activity. */
export function sayingsOf(values: JsonObject): Saying[] {
  return (Array.isArray(values.reasoning) ? values.reasoning.filter(isObject) : []).map((entry) => ({
    node: textOf(entry.node),
    summary: textOf(entry.summary),
    thought: textOf(entry.raw_thought ?? entry.rawThought),
    at: Date.parse(textOf(entry.timestamp)),
  }));
}

/** Why a research has no report, unless the user stopped it. */
export function failureOf(values: JsonObject): string {
  const message = values.status === "failed" ? textOf(values.error_message) : "";
  return message.startsWith("You stopped") ? "" : message;
}
