// Versions of a message. Turns form a tree: those with the same `previous` are versions of one message, and each may have turns after it.

import { contentOf } from "./messages";
import type { Turn, WireMessage } from "../api";
import type { Message } from "./types";

/** All versions of the message, oldest first; empty where the server does not know it. */
export function siblingsOf(turns: readonly Turn[], messageId: string): readonly Turn[] {
  const own = turns.find((turn) => turn.message_ids.includes(messageId));
  if (!own) return [];
  return turns
    .filter((turn) => turn.previous === own.previous && turn.message_ids.length)
    .toSorted((one, other) => one.created_at.localeCompare(other.created_at));
}

/** The last turn of the branch that goes through `turn`: of several that follow it, the newest. */
export function branchTo(turns: readonly Turn[], turn: Turn): Turn {
  const seen = new Set<string>();
  let last = turn;
  for (;;) {
    seen.add(last.turn_id);
    const next = turns.filter((each) => each.previous === last.turn_id && !seen.has(each.turn_id));
    if (!next.length) return last;
    last = next.reduce((newest, each) => (each.created_at > newest.created_at ? each : newest));
  }
}

const TYPES = { user: "human", agent: "ai", tool: "tool", system: "system" } as const;

/** The conversation up to a message, in the form of a snapshot. */
export function messagesBefore(messages: readonly Message[], messageId: string): WireMessage[] {
  const at = messages.findIndex((message) => message.id === messageId);
  return messages.slice(0, at === -1 ? messages.length : at).map((message) => ({
    type: TYPES[message.role],
    id: message.id,
    content: contentOf(message.text, message.pictures),
    name: message.name,
    tool_calls: message.toolCalls.map(({ id, name, args }) => ({ id, name, args })),
    tool_call_id: message.toolCallId,
    status: message.failed ? "error" : "success",
  }));
}
