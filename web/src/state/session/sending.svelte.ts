// Sending: how a message becomes a run, exactly once, in the order in which messages were written.
//
//            nothing works                                             accepted
//   written ───────────────> shown ───┐                             ┌──────────> sent: its run is known; a queued one waits for its turn
//      │     a run works              ├──> preparing ──> posting ───┤
//      └───────────────────> queued ──┘    (context,        ^  │    │ refused
//                              │            one after       │  │    └──────────> unsent: out of view and queue, the words go back
//                              │            the other)      │  │
//                              │                            │  └ no answer, or one that does not say whether it was stored:
//                              │                            │    wait, then look among the thread's runs ──> there: sent
//                              │                            └──────────────────────────────────────── not there: the same key again
//                              │ taken back
//                              └──────────> withdrawn: not posted any more; what was posted meanwhile is cancelled
//
// The message's id is the key by which the server knows it again. A message that is shown is in the view (`sent` of the reducer), one that
// waits is in `queued`, never in both.

import { api, isUncertain, type RunResponse, type WireMessage } from "../../api";
import { messagesBefore } from "../branches";
import { gatherContext } from "../message-context";
import { contentOf } from "../messages";
import type { Picture } from "../types";
import type { History } from "./history.svelte";
import { accept, add, ofRun, remove, type Queue, type Queued } from "./queue";
import { inputMessages } from "./runs";
import type { Thread } from "./thread";

/** While a run works: `steer` enters it before its next model call, `enqueue` waits for its end, `interrupt` stops it. */
export type Strategy = "steer" | "enqueue" | "interrupt";

const AGAIN_MS = 1_000;

class Withdrawn extends Error {}

export class Sending {
  queued = $state.raw<Queue>([]);
  /** Runs whose messages are in the view or the queue already. */
  private readonly known = new Set<string>();
  /** Messages that were taken back before the server said that it has them. */
  private readonly withdrawn = new Set<string>();
  /** Ends when the message before has arrived, or has failed. */
  private arrival: Promise<unknown> = Promise.resolve();
  private forking = false;

  constructor(
    private readonly thread: Thread,
    private readonly history: History,
  ) {}

  /** Rejects only when the server refuses the message. */
  async send(
    words: string,
    assistantId: string,
    strategy: Strategy,
    input: Record<string, unknown>,
    pictures: readonly Picture[],
  ): Promise<void> {
    const message = human(crypto.randomUUID(), words, pictures);
    const later = strategy === "steer" || this.thread.view.phase === "streaming";
    this.history.choose();
    if (later) this.queued = add(this.queued, message.id, words, pictures);
    else {
      this.thread.dispatch({ type: "sent", message });
      this.thread.dispatch({ type: "submitting", on: true });
    }
    try {
      const run = await this.inOrder(async () => {
        const order = await this.orderFor(message, words, assistantId, input);
        // Only the message itself can enter a run that works.
        const alone = strategy !== "steer" || Object.keys(order.input).length === 1;
        return this.startOnce(message.id, { ...order, multitask_strategy: later && alone ? strategy : "enqueue" });
      });
      const isKnown = this.known.has(run.run_id!) || this.thread.view.runs.some((each) => each.runId === run.run_id);
      if (strategy === "steer" && isKnown) await this.noteSteering(message.id, run.run_id!);
      else if (this.withdrawn.has(message.id)) await api.cancelRun(this.thread.threadId, run.run_id!);
      else this.noteAccepted(message, run.run_id!);
    } catch (error) {
      if (error instanceof Withdrawn) return;
      this.queued = remove(this.queued, message.id);
      if (!later) this.thread.dispatch({ type: "unsent", messageId: message.id });
      this.thread.dispatch({ type: "submitting", on: false });
      throw error;
    }
  }

  /** Another version of a person's message: the thread forks before it, and both versions stay. Once for a double click. */
  async sendInstead(messageId: string, words: string): Promise<void> {
    if (this.forking) return;
    this.forking = true;
    try {
      await this.fork(messageId, words);
    } finally {
      this.forking = false;
    }
  }

  /** Takes back a message that waits. */
  async unqueue(queued: Queued): Promise<void> {
    if (queued.steers) await (await import("./steering")).withdraw(this.thread.threadId, queued.id);
    else if (queued.runId) await api.cancelRun(this.thread.threadId, queued.runId);
    else this.withdrawn.add(queued.id);
    this.queued = remove(this.queued, queued.id);
  }

  /** This page knows what the run was asked. */
  noteKnown(runId: string): void {
    this.known.add(runId);
  }

  /** A run begins: a message that waited for it is shown. False: this page does not know what the run was asked. */
  begin(runId: string): boolean {
    const queued = ofRun(this.queued, runId);
    if (!queued) return this.known.has(runId);
    this.queued = remove(this.queued, queued.id);
    this.thread.dispatch({ type: "sent", message: human(queued.id, queued.text, queued.pictures), runId });
    return true;
  }

  private async fork(messageId: string, words: string): Promise<void> {
    const turn = this.history.turns.find((each) => each.message_ids.includes(messageId));
    if (!turn)
      throw new Error("The server has no checkpoint before this message, so it cannot be asked again from there.");
    this.history.choose();
    const { view } = this.thread;
    const { pictures = [] } = view.messages.find((each) => each.id === messageId) ?? {};
    const message = human(crypto.randomUUID(), words, pictures);
    const order = await this.orderFor(message, words, view.assistantId ?? view.graphId!, {});
    const place = turn.fork_from ? { checkpoint_id: turn.fork_from } : {};
    const run = await this.startOnce(message.id, { ...order, ...place, multitask_strategy: "interrupt" });
    this.history.branchCheckpoint = null;
    this.known.add(run.run_id!);
    const { messages, before } = this.thread.view;
    const kept = messagesBefore(messages, messageId);
    this.thread.dispatch({ type: "snapshot", snapshot: { messages: kept, before, replaceMessages: true } });
    this.thread.dispatch({ type: "sent", message, runId: run.run_id! });
    void this.history.loadTurns();
  }

  /** One message after the other: what is sent with the first may take a while, and the second must not overtake it. */
  private inOrder<Sent>(send: () => Promise<Sent>): Promise<Sent> {
    const sent = this.arrival.then(send);
    this.arrival = sent.catch(() => undefined);
    return sent;
  }

  /** A run with this message, and with the context that other parts of the page provide. */
  private async orderFor(message: Human, text: string, assistantId: string, input: Record<string, unknown>) {
    const { threadId, view, mode } = this.thread;
    const context = await gatherContext({ graphId: view.graphId ?? assistantId, threadId, text });
    const configurable = { ...context.configurable, ...(mode ? { permission_mode: mode } : {}) };
    const config = Object.keys(configurable).length ? { config: { configurable } } : {};
    return { assistant_id: assistantId, input: { ...context.input, ...input, messages: [message] }, ...config };
  }

  /** The server has the message for a run that works. */
  private async noteSteering(messageId: string, runId: string): Promise<void> {
    this.queued = accept(this.queued, messageId, runId, true);
    if (this.withdrawn.has(messageId)) await (await import("./steering")).withdraw(this.thread.threadId, messageId);
  }

  private noteAccepted(message: Human, runId: string): void {
    this.known.add(runId);
    this.history.branchCheckpoint = null;
    const began = this.thread.view.runs.some((each) => each.runId === runId);
    const isQueued = this.queued.some((each) => each.id === message.id);
    if (isQueued && !began) this.queued = accept(this.queued, message.id, runId);
    else {
      this.queued = remove(this.queued, message.id);
      this.thread.dispatch({ type: "sent", message, runId });
    }
  }

  /** Posts until there is an answer that counts. Before each further try it looks whether the first one arrived. */
  private async startOnce(messageId: string, order: Parameters<typeof api.startRun>[2]): Promise<RunResponse> {
    const { threadId, view, closed } = this.thread;
    const graphId = view.graphId ?? String(order.assistant_id);
    const { branchCheckpoint } = this.history;
    const checkpoint = branchCheckpoint ? { checkpoint_id: branchCheckpoint } : {};
    for (let tries = 0; ; tries++) {
      try {
        const arrived = tries ? await this.findRun(messageId) : undefined;
        if (arrived) return arrived;
        if (this.withdrawn.has(messageId)) throw new Withdrawn();
        return await api.startRun(threadId, graphId, { ...checkpoint, ...order }, messageId);
      } catch (error) {
        if (!isUncertain(error) || closed.aborted) throw error;
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    }
  }

  private async findRun(messageId: string): Promise<RunResponse | undefined> {
    const runs = await api.listRuns(this.thread.threadId, 10);
    return runs.find((run) => inputMessages(run).some((message) => message.id === messageId));
  }
}

type Human = WireMessage & { id: string };

function human(id: string, words: string, pictures: readonly Picture[]): Human {
  return { type: "human", id, content: contentOf(words, pictures) };
}
