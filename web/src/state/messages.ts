// Messages on the wire -> messages of the page. A message comes whole, or in chunks that are joined by id.

import type { Json, JsonObject, Message, Namespace, Role, ToolCall } from "./types";

export interface WireMessage {
  type?: string;
  id?: string | null;
  content?: unknown;
  name?: string | null;
  tool_calls?: { id?: string | null; name?: string; args?: unknown }[];
  tool_call_chunks?: { id?: string | null; name?: string | null; args?: string | null; index?: number | string | null }[];
  tool_call_id?: string | null;
  status?: string;
  usage_metadata?: { input_tokens?: number; output_tokens?: number } | null;
  additional_kwargs?: { reasoning_content?: unknown } | null;
  /** `finish_reason: "cancelled"`: the server kept what was said until the run was stopped. */
  response_metadata?: { finish_reason?: unknown } | null;
}

const ROLES: Record<string, Role> = { human: "user", ai: "agent", tool: "tool", system: "system", AIMessageChunk: "agent" };

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function isChunk(message: WireMessage): boolean {
  return message.type === "AIMessageChunk";
}

/** A whole message. Null for what is no message of a conversation ("remove"), or has no id. */
export function readMessage(wire: WireMessage, namespace: Namespace, runId: string | null): Message | null {
  const role = ROLES[wire.type ?? ""];
  if (!role || !wire.id) return null;
  return {
    id: wire.id,
    role,
    ...readContent(wire),
    toolCalls: (wire.tool_calls ?? []).map(readToolCall),
    toolCallId: wire.tool_call_id ?? null,
    name: wire.name ?? null,
    failed: wire.status === "error",
    status: wire.response_metadata?.finish_reason === "cancelled" ? "stopped" : "done",
    namespace,
    runId,
    createdAt: null,
    inputTokens: wire.usage_metadata?.input_tokens ?? null,
    outputTokens: wire.usage_metadata?.output_tokens ?? null,
  };
}

/** What a chunk adds to the message so far. */
export function addChunk(before: Message | null, wire: WireMessage, namespace: Namespace, runId: string | null): Message | null {
  if (!wire.id) return before;
  const { text, reasoning } = readContent(wire);
  const start: Message = before ?? { ...readMessage({ type: "ai", id: wire.id, name: wire.name }, namespace, runId)!, status: "streaming" };
  return {
    ...start,
    text: start.text + text,
    reasoning: start.reasoning + reasoning,
    toolCalls: wire.tool_call_chunks?.length ? addCallChunks(start.toolCalls, wire.tool_call_chunks) : start.toolCalls,
    inputTokens: wire.usage_metadata?.input_tokens ?? start.inputTokens,
    outputTokens: wire.usage_metadata?.output_tokens ?? start.outputTokens,
  };
}

/** Text and thoughts of a content that is a string, or blocks of several kinds. */
export function readContent(wire: WireMessage): { text: string; reasoning: string } {
  const aside = wire.additional_kwargs?.reasoning_content;
  let reasoning = typeof aside === "string" ? aside : "";
  if (typeof wire.content === "string") return { text: wire.content, reasoning };
  if (!Array.isArray(wire.content)) return { text: wire.content == null ? "" : JSON.stringify(wire.content), reasoning };
  let text = "";
  for (const block of wire.content as unknown[]) {
    if (typeof block === "string") text += block;
    else if (isObject(block)) {
      if (typeof block["text"] === "string" && block["type"] !== "reasoning") text += block["text"];
      const thought = block["reasoning"] ?? block["thinking"];
      if (typeof thought === "string") reasoning += thought;
    }
  }
  return { text, reasoning };
}

function readToolCall(wire: { id?: string | null; name?: string; args?: unknown }): ToolCall {
  return { id: wire.id ?? "", name: wire.name ?? "", args: isObject(wire.args) ? (wire.args as JsonObject) : null, argsText: "" };
}

function addCallChunks(calls: readonly ToolCall[], chunks: NonNullable<WireMessage["tool_call_chunks"]>): ToolCall[] {
  const joined = [...calls];
  for (const chunk of chunks) {
    const opens = Boolean(chunk.id) && !joined.some((call) => call.id === chunk.id);
    if (opens || !joined.length) joined.push({ id: chunk.id ?? "", name: chunk.name ?? "", args: null, argsText: chunk.args ?? "" });
    else {
      const at = typeof chunk.index === "number" && chunk.index < joined.length ? chunk.index : joined.length - 1;
      const call = joined[at]!;
      joined[at] = { ...call, name: call.name || (chunk.name ?? ""), argsText: call.argsText + (chunk.args ?? "") };
    }
  }
  return joined;
}

/** A tool's result as text for people: JSON is laid out, text stays as it is. */
export function asText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value == null) return "";
  return JSON.stringify(value as Json, null, 2);
}
