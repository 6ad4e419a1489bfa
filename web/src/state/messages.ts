// Messages on the wire -> messages of the page. A message comes whole, or in chunks that are joined by id.

import type { WireMessage } from "../api";
import { isObject, type Json } from "../lib/json";
import type { Message, Namespace, Picture, Role, ToolCall } from "./types";

const ROLES: Record<string, Role> = {
  human: "user",
  ai: "agent",
  tool: "tool",
  system: "system",
  AIMessageChunk: "agent",
};

/** Marks of a result that a rule or a person gave in place of the tool. */
const REFUSED = ["stepwell_refused", "stepwell_decided_by_person"];

export function isChunk(message: WireMessage): boolean {
  return message.type === "AIMessageChunk";
}

/** A whole message. Null for what is no message of a conversation ("remove"), or has no id. */
export function readMessage(wire: WireMessage, namespace: Namespace, runId: string | null): Message | null {
  // Written by the agent in the user's place, such as the text of a skill that the run uses: not shown.
  const role = wire.additional_kwargs?.lc_source ? "system" : ROLES[wire.type ?? ""];
  if (!role || !wire.id) return null;
  const pictures = readPictures(wire.content);
  return {
    id: wire.id,
    role,
    ...readContent(wire),
    ...(pictures.length ? { pictures } : {}),
    toolCalls: (wire.tool_calls ?? []).map(readToolCall),
    toolCallId: wire.tool_call_id ?? null,
    name: wire.name ?? null,
    failed: wire.status === "error",
    ...(wire.additional_kwargs && REFUSED.some((mark) => wire.additional_kwargs![mark]) ? { refused: true } : {}),
    ...(wire.additional_kwargs?.stepwell_declined ? { declined: true } : {}),
    ...(wire.additional_kwargs?.stepwell_steered ? { steered: true } : {}),
    status: wire.response_metadata?.finish_reason === "cancelled" ? "stopped" : "done",
    namespace,
    runId,
    createdAt: null,
    inputTokens: wire.usage_metadata?.input_tokens ?? null,
    outputTokens: wire.usage_metadata?.output_tokens ?? null,
    model: readModel(wire),
  };
}

/** `response_metadata.stepwell_model`: what the run's model was. */
function readModel(wire: WireMessage): Message["model"] {
  const said = wire.response_metadata?.stepwell_model;
  if (!isObject(said) || typeof said["model"] !== "string" || !said["model"]) return null;
  return { name: said["model"], label: typeof said["label"] === "string" ? said["label"] : "" };
}

/** What a chunk adds to the message so far. */
export function addChunk(
  before: Message | null,
  wire: WireMessage,
  namespace: Namespace,
  runId: string | null,
): Message | null {
  if (!wire.id) return before;
  const { text, reasoning } = readContent(wire);
  const start: Message = before ?? {
    ...readMessage({ type: "ai", id: wire.id, name: wire.name }, namespace, runId)!,
    status: "streaming",
  };
  return {
    ...start,
    text: start.text + text,
    reasoning: start.reasoning + reasoning,
    toolCalls: wire.tool_call_chunks?.length ? addCallChunks(start.toolCalls, wire.tool_call_chunks) : start.toolCalls,
    inputTokens: wire.usage_metadata?.input_tokens ?? start.inputTokens,
    outputTokens: wire.usage_metadata?.output_tokens ?? start.outputTokens,
    model: readModel(wire) ?? start.model,
  };
}

/** Text and thoughts of a content that is a string, or blocks of several kinds. */
export function readContent(wire: WireMessage): { text: string; reasoning: string } {
  const aside = wire.additional_kwargs?.reasoning_content;
  let reasoning = typeof aside === "string" ? aside : "";
  if (typeof wire.content === "string") return { text: wire.content, reasoning };
  if (!Array.isArray(wire.content))
    return { text: wire.content == null ? "" : JSON.stringify(wire.content), reasoning };
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

/** A message's content: text alone, or blocks as LangChain's models of every provider take them. */
export function contentOf(text: string, pictures: readonly Picture[] = []): unknown {
  if (!pictures.length) return text;
  const images = pictures.map(({ mimeType, base64 }) => ({ type: "image", base64, mime_type: mimeType }));
  return text ? [{ type: "text", text }, ...images] : images;
}

const DATA_URL = /^data:(image\/(?:png|jpeg|webp|gif));base64,(.+)$/s;
const SHOWN = /^image\/(png|jpeg|webp|gif)$/;

/** Images that a message holds itself, in the forms that clients send. Those at an address are not fetched. */
export function readPictures(content: unknown): readonly Picture[] {
  if (!Array.isArray(content)) return [];
  return (content as unknown[]).flatMap((block): Picture[] => {
    if (!isObject(block)) return [];
    const data = block["base64"] ?? block["data"];
    const mimeType = block["mime_type"];
    if (block["type"] === "image" && typeof data === "string" && typeof mimeType === "string")
      return SHOWN.test(mimeType) ? [{ mimeType, base64: data }] : [];
    const given = block["type"] === "image_url" ? block["image_url"] : null;
    const url = isObject(given) ? given["url"] : given;
    const [, type, base64] = (typeof url === "string" && DATA_URL.exec(url)) || [];
    return type && base64 ? [{ mimeType: type, base64 }] : [];
  });
}

function readToolCall(wire: { id?: string | null; name?: string; args?: unknown }): ToolCall {
  return {
    id: wire.id ?? "",
    name: wire.name ?? "",
    args: isObject(wire.args) ? wire.args : null,
    argsText: "",
  };
}

function addCallChunks(calls: readonly ToolCall[], chunks: NonNullable<WireMessage["tool_call_chunks"]>): ToolCall[] {
  const joined = [...calls];
  for (const chunk of chunks) {
    const opens = Boolean(chunk.id) && !joined.some((call) => call.id === chunk.id);
    if (opens || !joined.length)
      joined.push({ id: chunk.id ?? "", name: chunk.name ?? "", args: null, argsText: chunk.args ?? "" });
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
