// Steps: what was done, one for each tool call, subagent and node. Made from messages (so that a reload shows the same) and timed by events
// and by the server's step records.

import type { StepRecord } from "../api";
import { isObject, type JsonObject } from "../lib/json";
import { asText } from "./messages";
import type { Message, Namespace, Step, StepStatus, ToolCall } from "./types";

const SUBAGENT_TOOL = "task";
/** Nodes of every agent: their work is shown as messages and tool calls. */
export const INNER_NODE = /^(model|tools|__\w+__|.*Middleware\..*)$/;

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

export function stepOfNode(
  id: string,
  name: string,
  namespace: Namespace,
  runId: string | null,
  at: number | null,
): Step {
  return {
    ...stepOfCall({ id, name, args: null, argsText: "" }, namespace, runId),
    kind: "node",
    name,
    toolCallId: null,
    agentKey: null,
    startedAt: at,
  };
}

/** A call's step after its result came. */
export function finishStep(step: Step, result: Message): Step {
  return {
    ...step,
    status: result.declined ? "cancelled" : result.failed ? "failed" : "done",
    result: result.text,
    error: result.failed ? result.text : null,
    refused: result.refused,
    declined: result.declined,
    pictures: result.pictures,
  };
}

/** What becomes of a step that was under way when its run ended. */
export function endStep(step: Step, status: Exclude<StepStatus, "running">): Step {
  return step.status === "running" ? { ...step, status } : step;
}

/** A step record of the server (`GET /threads/{id}/steps`): times, tokens and cost that outlive the events. */
const STATUSES: Record<StepRecord["status"], StepStatus> = { success: "done", error: "failed", interrupted: "waiting" };

/** Records told into steps: times of a tool or subagent go to its call, those of a node to the node that events told of; the rest are steps of their own. */
export function addRecords(steps: readonly Step[], records: readonly StepRecord[]): Step[] {
  const joined = [...steps];
  const places = new Map(joined.map((step, at) => [step.id, at]));
  const known = new Set(joined.map((step) => step.recordNumber));
  for (const record of records) {
    if (known.has(record.number) || isOvertaken(joined, record)) continue;
    const at = record.call_id ? places.get(record.call_id) : findNode(joined, record);
    if (at !== undefined) joined[at] = timeStep(joined[at]!, record);
    else if (!record.call_id) joined.push(stepOfRecord(record));
  }
  return joined;
}

/** The node step that this record tells of: the first without a record of its end. */
function findNode(steps: readonly Step[], record: StepRecord): number | undefined {
  const at = steps.findIndex((step) => isOfNode(step, record) && step.recordNumber === undefined);
  return at === -1 ? undefined : at;
}

function isOfNode(step: Step, record: StepRecord): boolean {
  return (
    record.kind === "node" &&
    step.kind === "node" &&
    step.name === record.name &&
    step.namespace === record.namespace.join("|")
  );
}

/** A try that ended in an interrupt, and whose end is known already. */
function isOvertaken(steps: readonly Step[], record: StepRecord): boolean {
  return (
    record.status === "interrupted" &&
    steps.some((step) => isOfNode(step, record) && (step.recordNumber ?? 0) > record.number)
  );
}

/** An interrupted try is followed by the one that finished. A tool's time is that of its last try: the person's time is not its own. */
function timeStep(step: Step, record: StepRecord): Step {
  const startedAt = Date.parse(record.started_at);
  const status = step.kind === "node" && step.status === "waiting" ? STATUSES[record.status] : step.status;
  const counts = { inputTokens: record.input_tokens, outputTokens: record.output_tokens, costUsd: record.cost_usd };
  return {
    ...step,
    ...counts,
    status,
    startedAt: step.kind === "tool" ? startedAt : Math.min(step.startedAt ?? startedAt, startedAt),
    endedAt: startedAt + record.duration_ms,
    recordNumber: record.status === "interrupted" ? undefined : record.number,
  };
}

function stepOfRecord(record: StepRecord): Step {
  const startedAt = Date.parse(record.started_at);
  const step = stepOfNode(`record:${record.number}`, record.name, record.namespace.join("|"), record.run_id, startedAt);
  const kind = record.kind === "model" ? "model" : record.kind === "agent" ? "subagent" : "node";
  const model = record.kind === "model" ? record.name : null;
  return { ...timeStep(step, record), kind, model, status: STATUSES[record.status], error: record.error };
}

/** Events of a node that came after its record (a replay): the step takes the node's own id. */
export function adoptNode(steps: readonly Step[], id: string, name: string, runId: string | null): Step[] | null {
  const at = steps.findIndex(
    (step) => step.kind === "node" && step.name === name && step.runId === runId && step.id.startsWith("record:"),
  );
  return at === -1 ? null : steps.with(at, { ...steps[at]!, id });
}

export function readArgs(input: unknown): JsonObject | null {
  return isObject(input) ? input : null;
}

export function readToolError(error: unknown): string {
  return asText(error) || "The tool failed without a word.";
}
