// Steps: what was done, one for each tool call, subagent and node. Made from messages (so that a reload shows the same) and timed by events
// and by the server's step records.

import { asText, isObject } from "./messages";
import type { JsonObject, Message, Namespace, Step, StepStatus, ToolCall } from "./types";

const SUBAGENT_TOOL = "task";

export function stepOfCall(call: ToolCall, namespace: Namespace, runId: string | null): Step {
  const isAgent = call.name === SUBAGENT_TOOL;
  const who = call.args?.["subagent_type"];
  return {
    id: call.id,
    kind: isAgent ? "subagent" : "tool",
    name: isAgent && typeof who === "string" ? who : call.name,
    status: "running",
    namespace,
    runId,
    toolCallId: call.id,
    args: call.args,
    result: null,
    error: null,
    startedAt: null,
    endedAt: null,
    inputTokens: null,
    outputTokens: null,
    costUsd: null,
    model: null,
    agentKey: isAgent ? call.id : null,
  };
}

export function stepOfNode(id: string, name: string, namespace: Namespace, runId: string | null, at: number | null): Step {
  return { ...stepOfCall({ id, name, args: null, argsText: "" }, namespace, runId), kind: "node", name, toolCallId: null, agentKey: null, startedAt: at };
}

/** A call's step after its result came. */
export function finishStep(step: Step, result: Message): Step {
  return { ...step, status: result.failed ? "failed" : "done", result: result.text, error: result.failed ? result.text : null };
}

/** What becomes of a step that was under way when its run ended. */
export function endStep(step: Step, status: Exclude<StepStatus, "running">): Step {
  return step.status === "running" ? { ...step, status } : step;
}

/** A step record of the server (`GET /threads/{id}/steps`): times, tokens and cost that outlive the events. */
export interface StepRecord {
  number: number;
  run_id: string;
  kind: "node" | "model" | "tool" | "agent";
  name: string;
  agent: string | null;
  namespace: string[];
  call_id: string | null;
  started_at: string;
  duration_ms: number;
  status: "success" | "error" | "interrupted";
  error: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  cost_usd: number | null;
}

const STATUSES: Record<StepRecord["status"], StepStatus> = { success: "done", error: "failed", interrupted: "waiting" };

/** Records told into steps: a tool's or subagent's times go to its call; models and nodes become steps of their own. */
export function addRecords(steps: readonly Step[], records: readonly StepRecord[]): Step[] {
  const places = new Map(steps.map((step, at) => [step.id, at]));
  const joined = [...steps];
  for (const record of records) {
    const startedAt = Date.parse(record.started_at);
    const times = { startedAt, endedAt: startedAt + record.duration_ms };
    const counts = { inputTokens: record.input_tokens, outputTokens: record.output_tokens, costUsd: record.cost_usd };
    const id = record.call_id ?? `record:${record.number}`;
    const at = places.get(id);
    if (at !== undefined) {
      const step = joined[at]!;
      // An interrupted try is followed by the one that finished: the call's whole time is what a person waited.
      const earliest = step.startedAt === null ? startedAt : Math.min(step.startedAt, startedAt);
      joined[at] = { ...step, ...counts, startedAt: earliest, endedAt: times.endedAt };
    } else if (!record.call_id) {
      places.set(id, joined.length);
      joined.push({
        ...stepOfNode(id, record.name, record.namespace.join("|"), record.run_id, startedAt),
        ...times,
        ...counts,
        kind: record.kind === "model" ? "model" : record.kind === "agent" ? "subagent" : "node",
        model: record.kind === "model" ? record.name : null,
        status: STATUSES[record.status],
        error: record.error,
      });
    }
  }
  return joined;
}

export function readArgs(input: unknown): JsonObject | null {
  return isObject(input) ? (input as JsonObject) : null;
}

export function readToolError(error: unknown): string {
  return asText(error) || "The tool failed without a word.";
}
