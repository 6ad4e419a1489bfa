// One open thread: its view, its stream, and what a person does with it. Everything that changes the view goes through `reduce`.
//
//   open: snapshot -> the current turn's events again, where the snapshot cannot know them -> the thread's stream, until closed
//   a run's end -> another snapshot, so that the view is the server's truth and not our memory of events
//
// A run is not a connection: this tab, another one and a reload all follow the same stream.

import { api, ApiError, isUncertain, stream, type Frame, type RunResponse, type Turn } from "../api";
import { titleFrom } from "../lib/words";
import { whatGoesAlong } from "./companions";
import { branchTo, messagesBefore, siblingsOf } from "./branches";
import { FrameBuffer } from "./frame-buffer";
import type { WireMessage } from "./messages";
import { emptyView, reduce, type Action, type Snapshot, type WireInterrupt } from "./reduce";
import { server } from "./server.svelte";
import type { Message, StreamEvent, ThreadView } from "./types";

export interface Queued {
  readonly id: string;
  readonly text: string;
  /** Null: the server does not have it yet. */
  readonly runId: string | null;
}

type Strategy = "enqueue" | "interrupt";

/** What is drawn at once: about a screen. Earlier pages are larger, and put in front in slices, so that no step takes long. */
const PAGE = 20;
const EARLIER_PAGE = 60;
const SLICE = 12;
const FIRST_EVENT_MS = 15_000;
const REVEALED_FROM_CHARS = 160;

class Withdrawn extends Error {}

export class ThreadSession {
  view = $state.raw<ThreadView>(emptyView(""));
  status = $state<"loading" | "ready" | "missing" | "failed">("loading");
  problem = $state.raw<unknown>(null);
  queued = $state.raw<readonly Queued[]>([]);
  turns = $state.raw<readonly Turn[]>([]);
  loadingEarlier = $state(false);
  /** Messages that came whole while the person watched: they are revealed word by word. */
  revealing = $state.raw<ReadonlySet<string>>(new Set());
  /** Set while an older branch is shown: what is sent goes on from there. */
  branchCheckpoint = $state<string | null>(null);

  private readonly closing = new AbortController();
  private following = new AbortController();
  private asleep = false;
  private readonly ownRuns = new Set<string>();
  private readonly buffer = new FrameBuffer<StreamEvent>((events) => this.takeEvents(events));
  private caughtUp = false;
  private pageCheckpoint: string | null = null;
  private lastRecord = 0;
  /** The turn on whose branch the thread stands. */
  private head: string | null = null;
  /** Messages that were taken back before the server said that it has them. */
  private readonly withdrawn = new Set<string>();
  /** Counts what decides which messages are shown: a version that was asked for before that is not shown any more. */
  private shownLast = 0;
  private forking = false;
  /** Ends when the message before has arrived, or has failed. */
  private arrival: Promise<unknown> = Promise.resolve();

  constructor(readonly threadId: string) {
    this.view = emptyView(threadId);
  }

  // Opening ----------------------------------------------------------------------------------------------------------------------

  /** A thread that was just made has no past: its stream tells everything. */
  openNew(assistant: { assistantId: string; graphId: string }, title: string): void {
    this.status = "ready";
    this.dispatch({ type: "snapshot", snapshot: { title, assistantId: assistant.assistantId, graphId: assistant.graphId } });
    this.follow("-1", []).catch((error: unknown) => this.fail(error));
  }

  async open(): Promise<void> {
    try {
      const runs = await this.loadSnapshot();
      if (!runs) return;
      this.status = "ready";
      void this.loadRecords();
      void this.loadTurns();
      await this.follow(await this.placeBefore(runs), runs);
    } catch (error) {
      this.fail(error);
    }
  }

  retry(): void {
    this.status = "loading";
    this.problem = null;
    void this.open();
  }

  private fail(error: unknown): void {
    if (this.closing.signal.aborted) return;
    this.problem = error;
    this.status = error instanceof ApiError && error.status === 404 ? "missing" : "failed";
  }

  close(): void {
    this.closing.abort();
    this.buffer.stop();
  }

  /** A hidden page with nothing under way gives its connection back: browsers allow only a few to one server. */
  sleep(): void {
    if (this.working || this.status !== "ready") return;
    this.asleep = true;
    this.following.abort();
  }

  /** Coming back is opening again: what happened meanwhile is in the snapshot. */
  wake(): void {
    if (!this.asleep) return;
    this.asleep = false;
    this.following = new AbortController();
    void this.open();
  }

  private async loadSnapshot(): Promise<RunResponse[] | null> {
    const thread = await api.findThread(this.threadId);
    if (!thread) {
      this.status = "missing";
      return null;
    }
    const [{ body, checkpoint }, runs] = await Promise.all([this.readState(), api.listRuns(this.threadId, 30)]);
    this.pageCheckpoint = checkpoint;
    const last = runs.find((run) => run.status !== "pending");
    const lastRun = last ? { runId: last.run_id!, status: last.status!, error: errorOf(thread) } : null;
    const metadata = thread.metadata ?? {};
    this.dispatch({
      type: "snapshot",
      snapshot: { ...body, title: text(metadata["title"]), graphId: text(metadata["graph_id"]) || null, assistantId: text(metadata["assistant_id"]) || null, lastRun },
    });
    this.queued = runs.filter((run) => run.status === "pending").reverse().flatMap(readQueued);
    return runs;
  }

  /** Messages by page, the rest of the state by name, what waits with who asks; and the checkpoint that earlier pages belong to. */
  private async readState(): Promise<{ body: Snapshot; checkpoint: string | null }> {
    if (server.old) {
      const whole = await api.wholeState(this.threadId);
      const values = (whole.values ?? {}) as Record<string, unknown>;
      const messages = (values["messages"] ?? []) as WireMessage[];
      return { body: { messages, before: null, values, interrupts: whole.interrupts as WireInterrupt[], checkpointId: checkpointOf(whole) }, checkpoint: null };
    }
    const [page, state, waiting] = await Promise.all([
      api.messages(this.threadId, { limit: PAGE, checkpoint_id: this.branchCheckpoint }),
      api.state(this.threadId),
      api.interrupts(this.threadId),
    ]);
    const values = (state.values ?? {}) as Record<string, unknown>;
    const body = { messages: page.messages.toReversed(), before: page.next, values, interrupts: waiting.interrupts, checkpointId: checkpointOf(state) };
    return { body, checkpoint: page.checkpoint_id };
  }

  /** Where the stream has to begin so that nothing is missed: before the current turn, if it is under way, waits, or ended badly. */
  private async placeBefore(runs: RunResponse[]): Promise<string | undefined> {
    const current = runs.findIndex((run) => run.status !== "pending");
    if (current === -1) return undefined;
    if (runs[current]!.status === "success" && !this.view.waiting.length) return undefined;
    const turnStart = runs.slice(current).find((run) => run.kwargs?.["input"] != null) ?? runs[current]!;
    const first = await this.firstEventOf(turnStart.run_id!);
    return first === null ? undefined : String(first - 1);
  }

  /** Null where its events are no longer kept. */
  private async firstEventOf(runId: string): Promise<number | null> {
    let first: number | null = null;
    const enough = AbortSignal.any([this.closing.signal, AbortSignal.timeout(FIRST_EVENT_MS)]);
    const path = `/threads/${this.threadId}/runs/${runId}/stream`;
    const isLast = (frame: Frame) => frame.id !== "";
    await stream(path, { lastEventId: "-1", signal: enough, reconnect: false, isLast }, (frames) => {
      first ??= Number(frames.find(isLast)?.id ?? "") || null;
    }).catch((error: unknown) => console.warn("The events of the last run cannot be read again:", error));
    return first;
  }

  private async follow(after: string | undefined, known: readonly RunResponse[]): Promise<void> {
    this.caughtUp = after === undefined || after === "-1";
    let opened = false;
    const onState = (state: "open" | "cut") => {
      if (state === "cut") return server.cut();
      if (!opened && after === undefined) void this.catchUp(known);
      opened = true;
    };
    const lastEventId = after === "0" ? "-1" : after;
    const signal = AbortSignal.any([this.closing.signal, this.following.signal]);
    await stream(`/threads/${this.threadId}/stream`, { lastEventId, signal, onState }, (frames) => {
      const at = Date.now();
      this.buffer.add(frames.map((frame) => ({ seq: Number(frame.id) || 0, event: frame.event, data: frame.data, at })));
    });
  }

  /** Runs may have begun between the snapshot and the stream's opening, also such as waited for their turn in the snapshot. */
  private async catchUp(known: readonly RunResponse[]): Promise<void> {
    const begun = new Set(known.filter((run) => run.status !== "pending").map((run) => run.run_id));
    const runs = await api.listRuns(this.threadId, 10).catch(() => []);
    const missed = runs.filter((run) => run.status !== "pending" && !begun.has(run.run_id));
    for (const { run_id: runId } of missed.reverse()) {
      if (!runId || this.view.runs.some((run) => run.runId === runId) || (await this.firstEventOf(runId)) === null) continue;
      const path = `/threads/${this.threadId}/runs/${runId}/stream`;
      const isLast = (frame: Frame) => frame.event === "end";
      await stream(path, { lastEventId: "-1", signal: this.closing.signal, isLast }, (frames) => {
        const at = Date.now();
        this.buffer.add(frames.map((frame) => ({ seq: Number(frame.id) || 0, event: frame.event, data: frame.data, at })));
      });
    }
  }

  // Events -----------------------------------------------------------------------------------------------------------------------

  private dispatch(action: Action): void {
    this.view = reduce(this.view, action);
  }

  private takeEvents(events: readonly StreamEvent[]): void {
    const before = this.view;
    let rest = events;
    for (;;) {
      const begins = rest.findIndex((event) => event.event === "metadata" && event.seq > this.view.lastSeq);
      if (begins === -1) break;
      this.dispatch({ type: "events", events: rest.slice(0, begins) });
      this.beginRun(runOf(rest[begins]!));
      this.dispatch({ type: "events", events: [rest[begins]!] });
      rest = rest.slice(begins + 1);
    }
    this.dispatch({ type: "events", events: rest });
    this.noteRevealed(before);
    if (events.some((event) => event.event === "end")) void this.refresh();
  }

  /** A run that begins brings its question: from the queue, or, if another tab asked, from the server. */
  private beginRun(runId: string | null): void {
    if (!runId) return;
    const queued = this.queued.find((each) => each.runId === runId);
    if (queued) {
      this.queued = this.queued.filter((each) => each !== queued);
      this.dispatch({ type: "sent", message: human(queued.id, queued.text), runId });
    } else if (!this.ownRuns.has(runId)) void this.learnOf(runId);
  }

  private async learnOf(runId: string): Promise<void> {
    this.ownRuns.add(runId);
    const run = await api.getRun(this.threadId, runId).catch(() => null);
    if (!run) return;
    if (isFork(run)) await this.showNewest();
    for (const message of inputMessages(run)) this.dispatch({ type: "sent", message, runId });
    const resumed = (run.kwargs?.["command"] as { resume?: unknown } | null)?.resume;
    if (resumed && typeof resumed === "object") this.dispatch({ type: "answered", ids: Object.keys(resumed) });
  }

  /** Another tab went on from an earlier point: what follows that point is another branch. */
  private async showNewest(): Promise<void> {
    if (server.old) return;
    this.branchCheckpoint = null;
    const page = await api.messages(this.threadId, { limit: PAGE }).catch(() => null);
    if (!page) return;
    this.pageCheckpoint = page.checkpoint_id;
    this.dispatch({ type: "snapshot", snapshot: { messages: page.messages.toReversed(), before: page.next, replaceMessages: true } });
  }

  private noteRevealed(before: ThreadView): void {
    if (!this.caughtUp) {
      this.caughtUp = this.view.phase !== "streaming" || this.view.messages.some((message) => message.status === "streaming");
      return;
    }
    const known = (id: string) => before.messages.findLast((message) => message.id === id) !== undefined;
    const isNew = (message: Message) =>
      message.role === "agent" && message.status === "done" && message.text.length >= REVEALED_FROM_CHARS && !known(message.id);
    const fresh = this.view.messages.slice(-4).filter(isNew);
    if (fresh.length) this.revealing = new Set([...this.revealing, ...fresh.map((message) => message.id)]);
  }

  revealed(messageId: string): void {
    this.revealing = new Set([...this.revealing].filter((id) => id !== messageId));
  }

  /** The server's truth after a run, unless something has happened meanwhile. */
  async refresh(): Promise<void> {
    const [{ lastSeq }, branch] = [this.view, this.branchCheckpoint];
    const read = await this.readState().catch(() => null);
    const isStill = this.view.lastSeq === lastSeq && this.branchCheckpoint === branch && this.view.phase !== "streaming";
    if (read && isStill) {
      this.pageCheckpoint = read.checkpoint;
      this.dispatch({ type: "snapshot", snapshot: read.body });
    }
    void this.loadRecords();
    void this.loadTurns();
  }

  private async loadRecords(): Promise<void> {
    if (server.old) return;
    for (;;) {
      const page = await api.steps(this.threadId, this.lastRecord).catch(() => null);
      if (!page?.steps.length) return;
      this.lastRecord = Math.max(...page.steps.map((step) => step.number));
      this.dispatch({ type: "records", records: page.steps });
      if (page.next === null) return;
    }
  }

  private async loadTurns(): Promise<void> {
    if (server.old) return;
    const page = await api.turns(this.threadId).catch(() => null);
    if (page) [this.turns, this.head] = [page.turns, page.head];
  }

  async loadEarlier(): Promise<void> {
    const [{ before }, checkpoint] = [this.view, this.pageCheckpoint];
    if (!before || this.loadingEarlier) return;
    this.loadingEarlier = true;
    try {
      const page = await api.messages(this.threadId, { limit: EARLIER_PAGE, before, checkpoint_id: checkpoint });
      for (let at = 0; at < page.messages.length; at += SLICE) {
        if (at) await new Promise(requestAnimationFrame);
        if (this.pageCheckpoint !== checkpoint) return; // another version is shown by now, with a past of its own
        const isLast = at + SLICE >= page.messages.length;
        this.dispatch({ type: "earlier", messages: page.messages.slice(at, at + SLICE).toReversed(), before: isLast ? page.next : before });
      }
    } finally {
      this.loadingEarlier = false;
    }
  }

  // What a person does -----------------------------------------------------------------------------------------------------------

  get working(): boolean {
    return this.view.phase === "streaming" || this.view.phase === "submitting";
  }

  /** While a run works: `enqueue` waits for its end, `interrupt` stops it. Rejects only when the server refuses the message. */
  async send(words: string, assistantId: string, strategy: Strategy = "enqueue", input: Record<string, unknown> = {}): Promise<void> {
    const message = human(crypto.randomUUID(), words);
    const later = this.view.phase === "streaming";
    this.shownLast++;
    if (later) this.queued = [...this.queued, { id: message.id!, text: words, runId: null }];
    else {
      this.dispatch({ type: "sent", message });
      this.dispatch({ type: "submitting", on: true });
    }
    try {
      const run = await this.inOrder(async () => {
        const order = await this.orderFor(message, words, assistantId, input);
        return this.startOnce(message.id!, { ...order, multitask_strategy: later ? strategy : "enqueue" });
      });
      if (this.withdrawn.has(message.id!)) await api.cancelRun(this.threadId, run.run_id!);
      else this.noteSent(message, run);
    } catch (error) {
      if (error instanceof Withdrawn) return;
      this.queued = this.queued.filter((each) => each.id !== message.id);
      if (!later) this.dispatch({ type: "unsent", messageId: message.id! });
      this.dispatch({ type: "submitting", on: false });
      throw error;
    }
  }

  /** One message after the other: what goes along with the first may take a while, and the second must not overtake it. */
  private inOrder<Sent>(send: () => Promise<Sent>): Promise<Sent> {
    const sent = this.arrival.then(send);
    this.arrival = sent.catch(() => undefined);
    return sent;
  }

  /** A run with this message, and with what other parts of the page send along. */
  private async orderFor(message: WireMessage, text: string, assistantId: string, input: Record<string, unknown> = {}) {
    const along = await whatGoesAlong({ graphId: this.view.graphId ?? assistantId, threadId: this.threadId, text });
    const config = Object.keys(along.configurable).length ? { config: { configurable: along.configurable } } : {};
    return { assistant_id: assistantId, input: { ...along.input, ...input, messages: [message] }, ...config };
  }

  private noteSent(message: WireMessage, run: RunResponse): void {
    this.ownRuns.add(run.run_id!);
    this.branchCheckpoint = null;
    const began = this.view.runs.some((each) => each.runId === run.run_id);
    const queued = this.queued.find((each) => each.id === message.id);
    if (queued && !began) this.queued = this.queued.map((each) => (each.id === message.id ? { ...each, runId: run.run_id! } : each));
    else {
      this.queued = this.queued.filter((each) => each.id !== message.id);
      this.dispatch({ type: "sent", message, runId: run.run_id! });
    }
  }

  /**
   * Starts a run, and tries again for as long as nothing answers, or the server cannot say whether the message was stored. The message's id is
   * the key by which the server knows it again. Before each further try it looks whether the first one arrived: it may have been withdrawn.
   */
  private async startOnce(messageId: string, order: Parameters<typeof api.startRun>[2]): Promise<RunResponse> {
    const graphId = this.view.graphId ?? String(order.assistant_id);
    const checkpoint = this.branchCheckpoint ? { checkpoint_id: this.branchCheckpoint } : {};
    for (let tries = 0; ; tries++) {
      try {
        if (tries) {
          const runs = await api.listRuns(this.threadId, 10);
          const arrived = runs.find((run) => inputMessages(run).some((message) => message.id === messageId));
          if (arrived) return arrived;
        }
        if (this.withdrawn.has(messageId)) throw new Withdrawn();
        return await api.startRun(this.threadId, graphId, { ...checkpoint, ...order }, messageId);
      } catch (error) {
        if (!isUncertain(error) || this.closing.signal.aborted) throw error;
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
    }
  }

  async stop(): Promise<void> {
    const run = this.view.runs.findLast((each) => each.status === "running" || each.status === "pending");
    if (run) await api.cancelRun(this.threadId, run.runId);
  }

  async unqueue(queued: Queued): Promise<void> {
    if (queued.runId) await api.cancelRun(this.threadId, queued.runId);
    else this.withdrawn.add(queued.id);
    this.queued = this.queued.filter((each) => each !== queued);
  }

  async answer(answers: Record<string, unknown>): Promise<void> {
    const assistantId = this.view.assistantId ?? this.view.graphId;
    if (!assistantId) throw new Error("This thread does not say which assistant it belongs to, so nothing can be answered here.");
    try {
      const run = await api.startRun(this.threadId, this.view.graphId ?? assistantId, { assistant_id: assistantId, command: { resume: answers } });
      this.ownRuns.add(run.run_id!);
      this.dispatch({ type: "answered", ids: Object.keys(answers) });
    } catch (error) {
      // Somebody else answered: show what is open now.
      if (error instanceof ApiError && error.status === 409) await this.refresh();
      throw error;
    }
  }

  // Branches ---------------------------------------------------------------------------------------------------------------------

  /** Another version of a person's message: the thread forks before it, and both versions stay. */
  async sendInstead(messageId: string, words: string): Promise<void> {
    if (this.forking) return;
    this.forking = true;
    try {
      await this.fork(messageId, words);
    } finally {
      this.forking = false;
    }
  }

  private async fork(messageId: string, words: string): Promise<void> {
    const turn = this.turns.find((each) => each.message_ids.includes(messageId));
    if (!turn) throw new Error("The server has no checkpoint before this message, so it cannot be asked again from there.");
    this.shownLast++;
    const assistantId = this.view.assistantId ?? this.view.graphId!;
    const message = human(crypto.randomUUID(), words);
    const order = await this.orderFor(message, words, assistantId);
    const place = turn.fork_from ? { checkpoint_id: turn.fork_from } : {};
    const run = await this.startOnce(message.id!, { ...order, ...place, multitask_strategy: "interrupt" });
    this.branchCheckpoint = null;
    this.ownRuns.add(run.run_id!);
    this.dispatch({ type: "snapshot", snapshot: { messages: messagesBefore(this.view.messages, messageId), before: this.view.before, replaceMessages: true } });
    this.dispatch({ type: "sent", message, runId: run.run_id! });
    void this.loadTurns();
  }

  /** The versions of a message, oldest first. One: it has no siblings. */
  versionsOf(message: Message): readonly Turn[] {
    return siblingsOf(this.turns, message.id);
  }

  async showVersion(turn: Turn): Promise<void> {
    const end = branchTo(this.turns, turn);
    const checkpoint = end.last_checkpoint_id;
    if (!checkpoint) throw new Error("This version has not been kept.");
    const place = ++this.shownLast;
    const page = await api.messages(this.threadId, { limit: PAGE, checkpoint_id: checkpoint });
    if (place !== this.shownLast) return;
    this.pageCheckpoint = page.checkpoint_id;
    this.branchCheckpoint = end.turn_id === this.head ? null : checkpoint;
    this.dispatch({ type: "snapshot", snapshot: { messages: page.messages.toReversed(), before: page.next, replaceMessages: true } });
  }
}

/** A thread for a first message, with its title. */
export async function createThread(words: string, assistant: { assistantId: string; graphId: string }): Promise<string> {
  const metadata = { title: titleFrom(words), graph_id: assistant.graphId, assistant_id: assistant.assistantId };
  return (await api.createThread(metadata)).thread_id!;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

function human(id: string, content: string): WireMessage {
  return { type: "human", id, content };
}

function runOf(event: StreamEvent): string | null {
  const data = event.data as { run_id?: unknown } | null;
  return typeof data?.run_id === "string" ? data.run_id : null;
}

function inputMessages(run: RunResponse): WireMessage[] {
  const input = run.kwargs?.["input"] as { messages?: unknown } | null;
  return Array.isArray(input?.messages) ? (input.messages as WireMessage[]).filter((message) => message?.id) : [];
}

function isFork(run: RunResponse): boolean {
  return Boolean((run.kwargs?.["checkpoint"] as { checkpoint_id?: unknown } | null)?.checkpoint_id);
}

function readQueued(run: RunResponse): Queued[] {
  return inputMessages(run).map((message) => ({ id: message.id!, text: text(message.content), runId: run.run_id! }));
}

function errorOf(thread: { error?: unknown }): string | null {
  const error = thread.error as { message?: unknown } | null | undefined;
  return typeof error?.message === "string" ? error.message : null;
}

function checkpointOf(state: { checkpoint?: Record<string, unknown> | null }): string | null {
  return text(state.checkpoint?.["checkpoint_id"]) || null;
}
