// A thread's messages and steps -> turns: what the person said, and what came of it, in the order in which it is read.

import type { Turn as ServerTurn } from "../api";
import type { Receipt } from "../state/receipts";
import { INNER_NODE } from "../state/steps";
import type { Message, Step, ThreadView } from "../state/types";

export type Item =
  | { kind: "text"; key: string; message: Message }
  /** With the messages that called for them. */
  | { kind: "steps"; key: string; steps: readonly Step[]; messageIds: readonly string[] };

export interface ShownTurn {
  readonly key: string;
  readonly user: Message | null;
  readonly items: readonly Item[];
}

/** What the user decided, after so many items of its turn. */
export interface Placed {
  after: number;
  receipt: Receipt;
}

/** Remembers what it made: turns whose messages and steps are the same are the same objects, and are not drawn again. */
export class TurnMaker {
  private messages: readonly Message[] = [];
  private steps: readonly Step[] = [];
  private made: { turn: ShownTurn; from: number }[] = [];

  make(view: ThreadView, serverTurns: readonly ServerTurn[]): ShownTurn[] {
    const stepsChanged = view.steps !== this.steps;
    const kept = stepsChanged ? [] : this.keep(view.messages);
    const start = kept.at(-1)?.from ?? 0;
    // The last kept turn is made again: more may have been added to it.
    const rebuilt = kept.slice(0, -1);
    const byCall = new Map(view.steps.map((step) => [step.id, step]));
    const nodes = view.steps
      .filter((step) => step.kind === "node" && step.namespace === "" && !INNER_NODE.test(step.name))
      .sort((one, other) => (one.startedAt ?? Infinity) - (other.startedAt ?? Infinity));
    const groups = split(view.messages, start);
    this.made = [...rebuilt, ...groups.map(({ from, messages }) => ({ from, turn: makeTurn(messages, byCall) }))];
    if (nodes.length) this.addNodes(nodes, view, serverTurns);
    this.messages = view.messages;
    this.steps = view.steps;
    return this.made.map((each) => each.turn);
  }

  private keep(messages: readonly Message[]): { turn: ShownTurn; from: number }[] {
    let same = 0;
    while (same < messages.length && messages[same] === this.messages[same]) same++;
    const end = this.made.findIndex((each) => each.from >= same);
    const kept = end === -1 ? [...this.made] : this.made.slice(0, Math.max(end, 0));
    return kept;
  }

  /** A graph's nodes stand before what they wrote, in the turn whose run they belong to. */
  private addNodes(nodes: readonly Step[], view: ThreadView, serverTurns: readonly ServerTurn[]): void {
    const places = new Map<string, number>();
    this.made.forEach(({ turn }, at) => {
      for (const message of [turn.user, ...turn.items.flatMap((item) => (item.kind === "text" ? [item.message] : []))])
        if (message?.runId) places.set(message.runId, at);
      const server = serverTurns.find((each) => turn.user && each.message_ids.includes(turn.user.id));
      for (const runId of server?.run_ids ?? []) places.set(runId, at);
    });
    let last = this.made.length - 1;
    for (const run of view.runs) {
      // A run without a message of its own answers what the run before it asked.
      const place = places.get(run.runId);
      if (place === undefined) places.set(run.runId, last);
      else last = place;
    }
    this.made.forEach((made, at) => {
      const own = nodes.filter((step) => (places.get(step.runId ?? "") ?? this.made.length - 1) === at);
      const before = made.turn.items.find((item) => item.key === "nodes");
      if (!own.length || (before?.kind === "steps" && isSame(before.steps, own))) return;
      const rest = made.turn.items.filter((item) => item !== before);
      made.turn = { ...made.turn, items: [{ kind: "steps", key: "nodes", steps: own, messageIds: [] }, ...rest] };
    });
  }
}

const isSame = (one: readonly Step[], other: readonly Step[]) =>
  one.length === other.length && one.every((step, at) => step === other[at]);

function split(messages: readonly Message[], start: number): { from: number; messages: Message[] }[] {
  const groups: { from: number; messages: Message[] }[] = [];
  for (let at = start; at < messages.length; at++) {
    const message = messages[at]!;
    if (message.role === "user" || !groups.length) groups.push({ from: at, messages: [message] });
    else groups.at(-1)!.messages.push(message);
  }
  return groups;
}

function makeTurn(messages: readonly Message[], byCall: ReadonlyMap<string, Step>): ShownTurn {
  const first = messages[0]!;
  const user = first.role === "user" ? first : null;
  const items: Item[] = [];
  let wasTold = false;
  for (const message of user ? messages.slice(1) : messages) {
    wasTold ||= message.role === "system";
    if (message.role !== "agent") continue;
    if (message.text.trim() || message.reasoning || (!message.toolCalls.length && message.status === "stopped"))
      items.push({ kind: "text", key: message.id, message });
    const steps = message.toolCalls.map((call) => byCall.get(call.id)).filter((step) => step !== undefined);
    if (!steps.length) continue;
    const last = items.at(-1);
    if (last?.kind === "steps" && !wasTold)
      items[items.length - 1] = {
        ...last,
        steps: [...last.steps, ...steps],
        messageIds: [...last.messageIds, message.id],
      };
    else items.push({ kind: "steps", key: `steps:${steps[0]!.id}`, steps, messageIds: [message.id] });
    wasTold = false;
  }
  return { key: first.id, user, items };
}
