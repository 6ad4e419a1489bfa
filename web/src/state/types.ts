// What the page knows of one thread. Plain data: the reducer makes it, views read it, nobody changes it in place.
//
//   ThreadView
//   ├── messages   the conversation of the root graph, oldest first (a window: earlier pages are loaded on demand)
//   ├── steps      what was done, in order of start: tool calls, model calls, nodes, subagents; each with its namespace
//   ├── agents     subagents by their tool call (or namespace, where no tool call started them), each with messages of its own
//   ├── waiting    open interrupts, oldest first
//   ├── todos, files, values   the rest of the graph's state
//   ├── runs       newest last, with their status
//   └── unknown    events this page does not know, kept and shown as such

import type { Json, JsonObject } from "../lib/json";

/** Where something happened: "" is the root graph, otherwise LangGraph's path ("tools:uuid|..."). */
export type Namespace = string;

export type Role = "user" | "agent" | "tool" | "system";

/** `streaming`: text still comes. `stopped`: the run was cancelled or failed while it came; the text is kept as it was. */
export type MessageStatus = "streaming" | "done" | "stopped";

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** Parsed arguments, once they are whole. */
  readonly args: JsonObject | null;
  /** Arguments as they come, while they are not whole. */
  readonly argsText: string;
}

/** An image of a message, whole. */
export interface Picture {
  readonly mimeType: string;
  readonly base64: string;
  readonly name?: string;
}

export interface Message {
  readonly id: string;
  readonly role: Role;
  readonly text: string;
  /** Absent: none. */
  readonly pictures?: readonly Picture[];
  /** What a model thought before it answered, if it says so. */
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCall[];
  /** For role "tool": which call this answers. */
  readonly toolCallId: string | null;
  readonly name: string | null;
  readonly failed: boolean;
  /** For role "tool": a rule or a person answered in place of the tool, which did not run. */
  readonly refused?: boolean;
  /** For role "tool": a question that the tool asked meanwhile was declined. */
  readonly declined?: boolean;
  /** It entered a run that was under way. */
  readonly steered?: boolean;
  readonly status: MessageStatus;
  readonly namespace: Namespace;
  readonly runId: string | null;
  /** ISO, if the server says it. */
  readonly createdAt: string | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** What wrote it, if the server says so: the model's name, and how people see its connection. */
  readonly model: { readonly name: string; readonly label: string } | null;
}

export type StepKind = "tool" | "model" | "node" | "subagent";
export type StepStatus = "running" | "done" | "failed" | "waiting" | "cancelled";

export interface Step {
  readonly id: string;
  readonly kind: StepKind;
  /** The tool's, node's or subagent's name. */
  readonly name: string;
  readonly status: StepStatus;
  readonly namespace: Namespace;
  readonly runId: string | null;
  /** For tool calls and subagents. */
  readonly toolCallId: string | null;
  readonly args: JsonObject | null;
  /** What came back, as text. */
  readonly result: string | null;
  readonly error: string | null;
  /** The tool did not run: a rule or a person answered in its place. */
  readonly refused?: boolean;
  /** A question that the tool asked meanwhile was declined. */
  readonly declined?: boolean;
  /** Images that came back. */
  readonly pictures?: readonly Picture[];
  /** Epoch milliseconds. Of the server where it says them, otherwise when this page heard of it, otherwise null (after a reload). */
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly costUsd: number | null;
  readonly model: string | null;
  /** For kind "subagent": its key in `agents`. */
  readonly agentKey: string | null;
  /** The server's record of it, once it has one. */
  readonly recordNumber?: number;
}

export interface Subagent {
  /** The tool call's id, or the namespace. */
  readonly key: string;
  /** Null until it has said something that this page heard. */
  readonly namespace: Namespace | null;
  /** `subagent_type` of the task call, or the graph's name. */
  readonly name: string;
  readonly description: string;
  readonly toolCallId: string | null;
  readonly status: StepStatus;
  readonly messages: readonly Message[];
}

/** An open interrupt. `payload` is LangGraph's `value`: what is asked; often an object whose `type` says of which kind. */
export interface Waiting {
  readonly id: string;
  readonly threadId: string;
  readonly namespace: Namespace;
  /** Who asks, in words: the subagent's or the assistant's name. */
  readonly asker: string;
  readonly payload: Json;
  readonly responseSchema: JsonObject | null;
  readonly createdAt: string | null;
  /** The run that asked last; absent or null: known from a snapshot. */
  readonly runId?: string | null;
}

export interface ScratchFile {
  readonly path: string;
  readonly text: string;
  /** The text before the last change that this page has seen, for a diff. */
  readonly before: string | null;
  readonly modifiedAt: string | null;
}

export interface Todo {
  readonly content: string;
  readonly status: "pending" | "in_progress" | "completed";
}

export type RunStatus = "pending" | "running" | "success" | "error" | "timeout" | "interrupted";

export interface Run {
  readonly runId: string;
  readonly status: RunStatus;
  /** Ended because something is asked. */
  readonly paused: boolean;
  readonly attempt: number;
  readonly error: string | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

export interface UnknownEvent {
  readonly seq: number;
  readonly event: string;
  /** The start of its data. */
  readonly data: string;
}

/**
 * idle -> submitting -> streaming -> done | waiting | failed | cancelled
 * `waiting` also while a run works, as soon as something is asked and nothing else runs.
 */
export type Phase = "idle" | "submitting" | "streaming" | "waiting" | "done" | "failed" | "cancelled";

export interface ThreadView {
  readonly threadId: string;
  readonly assistantId: string | null;
  readonly graphId: string | null;
  readonly title: string;
  readonly phase: Phase;
  /** Events at or below this sequence are dropped. */
  readonly lastSeq: number;
  readonly messages: readonly Message[];
  /** Where the page of messages before the first one begins; null: there is none. */
  readonly before: string | null;
  readonly steps: readonly Step[];
  readonly agents: Readonly<Record<string, Subagent>>;
  readonly waiting: readonly Waiting[];
  readonly todos: readonly Todo[];
  readonly files: Readonly<Record<string, ScratchFile>>;
  /** Every other field of the graph's state (research: plan, audit, report ...). */
  readonly values: JsonObject;
  readonly runs: readonly Run[];
  readonly unknown: readonly UnknownEvent[];
  /** What went wrong with the last run, as a sentence. */
  readonly error: string | null;
  readonly checkpointId: string | null;
}

export interface ThreadSummary {
  readonly threadId: string;
  readonly title: string;
  readonly status: "idle" | "busy" | "interrupted" | "error";
  readonly graphId: string | null;
  readonly updatedAt: string;
  readonly pinned: boolean;
}

export interface Assistant {
  readonly assistantId: string;
  readonly graphId: string;
  readonly name: string;
  readonly description: string;
  readonly demo: boolean;
  readonly metadata: JsonObject;
}

/** `online`: requests are answered. `reconnecting`: a stream was cut and is being opened again. `offline`: nothing answers. */
export type Connection = "online" | "reconnecting" | "offline";

/** One event as it came over the wire. `event` is the name with its namespace ("messages|tools:uuid"). */
export interface StreamEvent {
  readonly seq: number;
  readonly event: string;
  readonly data: unknown;
  /** When this page heard of it, epoch milliseconds. */
  readonly at: number;
}
