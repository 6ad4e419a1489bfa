// One open thread: its view, and what a person does with it. Everything that changes the view goes through `reduce`.
//
//   open: snapshot -> the current turn's events again, where the snapshot cannot know them -> the thread's stream, until closed
//   a run's end -> another snapshot, so that the view is the server's truth and not our memory of events
//
// Its parts are in `session/`:
//
//   snapshot    what the server has now                   following   the stream: from where, until when
//   sending     a message becomes a run; the queue        history     earlier pages, versions, step records
//   revealing   what came whole is shown word by word     runs, queue pure readings of the server's runs

import { api, ApiError, type RunResponse, type Turn } from "../api";
import { emptyView, reduce, type Action } from "./reduce";
import { Following } from "./session/following";
import { History } from "./session/history.svelte";
import { readQueue, type Queue, type Queued } from "./session/queue";
import { Revealing } from "./session/revealing.svelte";
import { answeredBy, inputMessages, isFork } from "./session/runs";
import { Sending, type Strategy } from "./session/sending.svelte";
import { readState, readThread, type OpenedThread } from "./session/snapshot";
import type { Thread } from "./session/thread";
import type { Message, Picture, StreamEvent, ThreadView } from "./types";

export class ThreadSession implements Thread {
  view = $state.raw<ThreadView>(emptyView(""));
  status = $state<"loading" | "ready" | "missing" | "failed">("loading");
  problem = $state.raw<unknown>(null);
  /** A question will be there once the thread is read. */
  asks = $state(false);
  /** The thread's own choice of models: its metadata `stepwell_models`. */
  models = $state.raw<unknown>(null);
  /** How much its runs may change: its metadata `stepwell_mode`. Null: as the agent was built. */
  mode = $state.raw<unknown>(null);
  /** The conversation that started this one, if it is a task in the background. */
  parentId = $state("");

  readonly history = new History(this);
  private readonly sending = new Sending(this, this.history);
  private readonly revelation = new Revealing();
  private readonly closing = new AbortController();
  readonly closed = this.closing.signal;
  private readonly following = new Following(this, (events) => this.takeEvents(events));
  private asleep = false;

  constructor(readonly threadId: string) {
    this.view = emptyView(threadId);
  }

  dispatch(action: Action): void {
    this.view = reduce(this.view, action);
  }

  // Opening and closing ----------------------------------------------------------------------------------------------------------

  /** A thread that was just made has no past: its stream tells everything. */
  openNew(assistant: { assistantId: string; graphId: string }, title: string): void {
    const { assistantId, graphId } = assistant;
    this.status = "ready";
    this.dispatch({ type: "snapshot", snapshot: { title, assistantId, graphId } });
    this.follow("-1", []).catch((error: unknown) => this.fail(error));
  }

  /** Resolves when the thread can be shown, or cannot; from then on it is followed. */
  async open(): Promise<void> {
    try {
      const found = await readThread(this.threadId, this.history.branchCheckpoint, () => (this.asks = true));
      if (!found) {
        this.status = "missing";
        return;
      }
      this.models = found.metadata["stepwell_models"] ?? null;
      this.mode = found.metadata["stepwell_mode"];
      this.parentId = String(found.metadata["parent_thread_id"] ?? "");
      this.history.pageCheckpoint = found.pageCheckpoint;
      this.dispatch({ type: "snapshot", snapshot: found.snapshot });
      this.sending.queued = readQueue(found.runs);
      if (this.view.waiting.length || found.runs.some((run) => run.status === "running")) void this.readSteering();
      this.status = "ready";
      this.history.load();
      this.goOn(found).catch((error: unknown) => this.fail(error));
    } catch (error) {
      this.fail(error);
    }
  }

  private async goOn({ rest, runs }: OpenedThread): Promise<void> {
    if (rest) this.dispatch({ type: "snapshot", snapshot: await rest });
    await this.follow(await this.following.placeBefore(runs), runs);
  }

  /** Messages that were sent to a run and that it has not read yet. */
  private async readSteering(): Promise<void> {
    const { readWaiting } = await import("./session/steering");
    const waiting = await readWaiting(this.threadId).catch(() => []);
    this.sending.queued = [...waiting, ...this.sending.queued];
  }

  private async follow(after: string | undefined, known: readonly RunResponse[]): Promise<void> {
    this.revelation.begin(after === undefined || after === "-1");
    await this.following.follow(after, known);
  }

  retry(): void {
    this.status = "loading";
    this.problem = null;
    void this.open();
  }

  private fail(error: unknown): void {
    if (this.closed.aborted) return;
    this.problem = error;
    this.status = error instanceof ApiError && error.status === 404 ? "missing" : "failed";
  }

  close(): void {
    this.closing.abort();
  }

  /** A hidden page with nothing under way gives its connection back: browsers allow only a few to one server. */
  sleep(): void {
    if (this.working || this.status !== "ready") return;
    this.asleep = true;
    this.following.pause();
  }

  /** Coming back is opening again: what happened meanwhile is in the snapshot. */
  wake(): void {
    if (!this.asleep) return;
    this.asleep = false;
    this.following.resume();
    void this.open();
  }

  // Events -----------------------------------------------------------------------------------------------------------------------

  private takeEvents(events: readonly StreamEvent[]): void {
    const before = this.view;
    let rest = events;
    for (;;) {
      const begins = rest.findIndex((event) => event.event === "metadata" && event.seq > this.view.lastSeq);
      if (begins === -1) break;
      this.dispatch({ type: "events", events: rest.slice(0, begins) });
      const runId = runOf(rest[begins]!);
      // A run that begins brings its question: from the queue, or, if another tab asked, from the server.
      if (runId && !this.sending.begin(runId)) void this.learnOf(runId);
      this.dispatch({ type: "events", events: [rest[begins]!] });
      rest = rest.slice(begins + 1);
    }
    this.dispatch({ type: "events", events: rest });
    this.revelation.note(before, this.view);
    if (events.some((event) => event.event === "end")) void this.refresh();
  }

  private async learnOf(runId: string): Promise<void> {
    this.sending.noteKnown(runId);
    const run = await api.getRun(this.threadId, runId).catch(() => null);
    if (!run) return;
    if (isFork(run)) await this.history.showNewest();
    for (const message of inputMessages(run)) this.dispatch({ type: "sent", message, runId });
    const ids = answeredBy(run);
    if (ids.length) this.dispatch({ type: "answered", ids });
  }

  /** The server's truth after a run, unless something has happened meanwhile. */
  async refresh(): Promise<void> {
    const [{ lastSeq }, branch] = [this.view, this.history.branchCheckpoint];
    const read = await readState(this.threadId, branch).catch(() => null);
    const isSame = this.view.lastSeq === lastSeq && this.history.branchCheckpoint === branch;
    if (read && isSame && this.view.phase !== "streaming") {
      this.history.pageCheckpoint = read.pageCheckpoint;
      this.dispatch({ type: "snapshot", snapshot: read.snapshot });
    }
    this.history.load();
  }

  // What a person does -----------------------------------------------------------------------------------------------------------

  get working(): boolean {
    return this.view.phase === "streaming" || this.view.phase === "submitting";
  }

  /** Messages that wait for the end of a run, or for its next step. */
  get queued(): Queue {
    return this.sending.queued.filter((each) => !each.steers || !this.view.messages.some(({ id }) => id === each.id));
  }

  /** Rejects only when the server refuses the message. */
  send(
    words: string,
    assistantId: string,
    strategy: Strategy = "enqueue",
    input: Record<string, unknown> = {},
    pictures: readonly Picture[] = [],
  ): Promise<void> {
    return this.sending.send(words, assistantId, strategy, input, pictures);
  }

  sendInstead(messageId: string, words: string): Promise<void> {
    return this.sending.sendInstead(messageId, words);
  }

  unqueue(queued: Queued): Promise<void> {
    return this.sending.unqueue(queued);
  }

  async stop(): Promise<void> {
    const run = this.view.runs.findLast((each) => each.status === "running" || each.status === "pending");
    if (run) await api.cancelRun(this.threadId, run.runId);
  }

  async answer(answers: Record<string, unknown>): Promise<void> {
    const assistantId = this.view.assistantId ?? this.view.graphId;
    if (!assistantId)
      throw new Error("This thread does not say which assistant it belongs to, so nothing can be answered here.");
    try {
      const order = { assistant_id: assistantId, command: { resume: answers } };
      const run = await api.startRun(this.threadId, this.view.graphId ?? assistantId, order);
      this.sending.noteKnown(run.run_id!);
      this.dispatch({ type: "answered", ids: Object.keys(answers) });
    } catch (error) {
      // Somebody else answered: show what is open now.
      if (error instanceof ApiError && error.status === 409) await this.refresh();
      throw error;
    }
  }

  // What a person looks at -------------------------------------------------------------------------------------------------------

  get turns(): readonly Turn[] {
    return this.history.turns;
  }

  get branchCheckpoint(): string | null {
    return this.history.branchCheckpoint;
  }

  get loadingEarlier(): boolean {
    return this.history.loadingEarlier;
  }

  loadEarlier(): Promise<void> {
    return this.history.loadEarlier();
  }

  versionsOf(message: Message): readonly Turn[] {
    return this.history.versionsOf(message);
  }

  showVersion(turn: Turn): Promise<void> {
    return this.history.showVersion(turn);
  }

  /** Messages that are to appear word by word. */
  get revealing(): ReadonlySet<string> {
    return this.revelation.messages;
  }

  revealed(messageId: string): void {
    this.revelation.done(messageId);
  }
}

/** A thread for a first message, which gives it its title on the server. */
export async function createThread(
  assistant: { assistantId: string; graphId: string },
  more: Record<string, unknown> = {},
): Promise<string> {
  const { graphId, assistantId } = assistant;
  const metadata = { ...more, graph_id: graphId, assistant_id: assistantId };
  return (await api.createThread(metadata)).thread_id!;
}

function runOf(event: StreamEvent): string | null {
  const data = event.data as { run_id?: unknown } | null;
  return typeof data?.run_id === "string" ? data.run_id : null;
}
