/**
 * A research thread node by node, with honest states: what has said something is done, what runs or waits is named, the rest has not
 * begun. There are no percentages, because nobody knows them.
 */

import { readPlan, readStep, type Plan } from "../dock/plan";
import { asObject, isObject, textOf, textsOf } from "../dock/waiting";
import type { JsonObject, Step, Waiting } from "../state/types";
import type { Saying } from "./activity";

export type NodeState = "done" | "now" | "waits" | "failed" | "later";

export interface TraceNode {
  node: string;
  name: string;
  state: NodeState;
  /** What it said, newest last. */
  said: { summary: string; at: string; thought: string }[];
}

export interface PlanStepState {
  id: string;
  tool: string;
  input: string;
  state: NodeState;
  /** What came of it, or why nothing did. */
  output: string;
}

export const STATE_WORDS: Record<NodeState, string> = {
  done: "done",
  now: "working",
  waits: "waits for you",
  failed: "failed",
  later: "not begun",
};

const NODES: [node: string, name: string][] = [
  ["intake", "Question"],
  ["thinker", "Plan"],
  ["auditor", "Audit"],
  ["hitl_gate", "Your decision"],
  ["tool_executor", "Search and read"],
  ["search_retry", "Try again?"],
  ["follow_up", "Follow up on names found"],
  ["source_review", "Your review of the sources"],
  ["synthesizer", "Write and check"],
];
/** Shown only when they happened: most research does without. */
const OPTIONAL = new Set(["search_retry", "follow_up", "source_review", "intake"]);
const ASKED_BY: Record<string, string> = {
  plan_approval: "hitl_gate",
  search_retry: "search_retry",
  source_review: "source_review",
};

export function traceOf(values: JsonObject, steps: readonly Step[], waiting: readonly Waiting[]): TraceNode[] {
  const said = newestOf(values);
  const asking = new Set(waiting.map((each) => ASKED_BY[textOf(asObject(each.payload).type)]));
  const running = new Set(steps.filter((step) => step.kind === "node" && step.status === "running").map((step) => step.name));
  const failed = textOf(values.status) === "failed";
  const nodes = NODES.map(([node, name]): TraceNode => {
    const own = said.filter((each) => each.node === node);
    const state: NodeState = asking.has(node) ? "waits" : running.has(node) ? "now" : own.length ? "done" : "later";
    return { node, name, state, said: own };
  });
  const last = nodes.findLast((each) => each.state === "done");
  if (failed && last && !nodes.some((each) => each.state === "now" || each.state === "waits")) last.state = "failed";
  return nodes.filter((each) => each.state !== "later" || !OPTIONAL.has(each.node));
}

export function planSteps(values: JsonObject, steps: readonly Step[]): { plan: Plan; steps: PlanStepState[]; followed: PlanStepState[] } | null {
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
    followed: followed.map(({ id, tool, input, rationale, output }) => ({ id, tool, input, state: "done", output: [rationale, output].filter(Boolean).join(". ") })),
    steps: plan.steps.map((step) => {
      const missed = asObject(unreached[step.id]);
      const state: NodeState =
        step.id in unreached ? "failed" : done.has(step.id) || step.output ? "done" : working ? "now" : "later";
      return { id: step.id, tool: step.tool, input: step.input, state, output: textOf(missed.tried) || (step.output ?? "") };
    }),
  };
}

/** What the nodes said for the newest question: the list holds earlier questions too, and each begins with the intake. */
function newestOf(values: JsonObject): Entry[] {
  const entries = entriesOf(values);
  const begun = entries.findLastIndex((entry) => entry.node === "intake");
  return begun < 0 ? entries : entries.slice(begun);
}

interface Entry {
  node: string;
  summary: string;
  at: string;
  thought: string;
}

function entriesOf(values: JsonObject): Entry[] {
  return (Array.isArray(values.reasoning) ? values.reasoning.filter(isObject) : []).map((entry) => ({
    node: textOf(entry.node),
    summary: textOf(entry.summary),
    at: textOf(entry.timestamp),
    thought: textOf(entry.raw_thought ?? entry.rawThought),
  }));
}

/** What the nodes said, of all questions, with when: for the lines of activity. */
export function sayingsOf(values: JsonObject): Saying[] {
  return entriesOf(values).map((entry) => ({ node: entry.node, summary: entry.summary, at: Date.parse(entry.at) }));
}
