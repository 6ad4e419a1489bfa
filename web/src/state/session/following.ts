// Following a thread's stream: from where nothing is missed until the thread is left, with a pause while nobody looks. What comes is handed
// on once per animation frame.
//
// A run is not a connection: this tab, another one and a reload all follow the same stream.

import { api, stream, type Frame, type RunResponse } from "../../api";
import { FrameBuffer } from "../frame-buffer";
import { server } from "../server.svelte";
import type { StreamEvent } from "../types";
import { begunSince, turnToReplay } from "./runs";
import type { Thread } from "./thread";

const FIRST_EVENT_MS = 15_000;

export class Following {
  private readonly buffer: FrameBuffer<StreamEvent>;
  private pausing = new AbortController();

  constructor(
    private readonly thread: Thread,
    take: (events: readonly StreamEvent[]) => void,
  ) {
    this.buffer = new FrameBuffer(take);
    thread.closed.addEventListener("abort", () => this.buffer.stop());
  }

  /** The connection is given back; `resume` and another `follow` take it up again. */
  pause(): void {
    this.pausing.abort();
  }

  resume(): void {
    this.pausing = new AbortController();
  }

  /** Where the stream has to begin so that nothing is missed. Undefined: with what happens from now on. */
  async placeBefore(runs: readonly RunResponse[]): Promise<string | undefined> {
    const run = turnToReplay(runs, this.thread.view.waiting.length > 0);
    const first = run && (await this.firstEventOf(run.run_id!));
    return first === null ? undefined : String(first - 1);
  }

  /** After the event `after` ("-1": from the thread's first one). Ends when the thread is left, or the stream is paused. */
  async follow(after: string | undefined, known: readonly RunResponse[]): Promise<void> {
    let opened = false;
    const onState = (state: "open" | "cut") => {
      if (state === "cut") return server.cut();
      if (!opened && after === undefined) void this.catchUp(known);
      opened = true;
    };
    const lastEventId = after === "0" ? "-1" : after;
    const signal = AbortSignal.any([this.thread.closed, this.pausing.signal]);
    await stream(`/threads/${this.thread.threadId}/stream`, { lastEventId, signal, onState }, this.add);
  }

  /** Runs may have begun between the snapshot and the stream's opening. */
  private async catchUp(known: readonly RunResponse[]): Promise<void> {
    const runs = await api.listRuns(this.thread.threadId, 10).catch(() => []);
    for (const { run_id: runId } of begunSince(known, runs)) {
      const isKnown = this.thread.view.runs.some((run) => run.runId === runId);
      if (!runId || isKnown || (await this.firstEventOf(runId)) === null) continue;
      const isLast = (frame: Frame) => frame.event === "end";
      await stream(this.pathOf(runId), { lastEventId: "-1", signal: this.thread.closed, isLast }, this.add);
    }
  }

  /** Null where its events are no longer kept. The mode leaves out all events but those that are always sent. */
  private async firstEventOf(runId: string): Promise<number | null> {
    let first: number | null = null;
    const enough = AbortSignal.any([this.thread.closed, AbortSignal.timeout(FIRST_EVENT_MS)]);
    const isLast = (frame: Frame) => frame.id !== "";
    const path = `${this.pathOf(runId)}?stream_mode=debug`;
    await stream(path, { lastEventId: "-1", signal: enough, reconnect: false, isLast }, (frames) => {
      first ??= Number(frames.find(isLast)?.id ?? "") || null;
    }).catch((error: unknown) => console.warn("The events of the last run cannot be read again:", error));
    return first;
  }

  private readonly add = (frames: readonly Frame[]): void => {
    const at = Date.now();
    this.buffer.add(frames.map(({ id, event, data }) => ({ seq: Number(id) || 0, event, data, at })));
  };

  private pathOf(runId: string): string {
    return `/threads/${this.thread.threadId}/runs/${runId}/stream`;
  }
}
