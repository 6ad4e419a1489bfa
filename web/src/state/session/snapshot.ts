// A thread as the server has it now: what a session opens with, and what it takes up again after each run.

import { api, type RunResponse } from "../../api";
import { textOf } from "../../lib/json";
import type { Snapshot } from "../reduce";
import { currentRun, wasTakenBack } from "./runs";

/** What is drawn at once: about a screen. */
export const PAGE = 20;

export interface ReadState {
  readonly snapshot: Snapshot;
  /** The checkpoint that earlier pages of messages belong to. */
  readonly pageCheckpoint: string | null;
}

/** Messages by page, the rest of the state by name, what waits with who asks. */
export async function readState(threadId: string, branchCheckpoint: string | null): Promise<ReadState> {
  const [tail, rest] = await Promise.all([
    readTail(threadId, branchCheckpoint, api.interrupts(threadId)),
    readRest(threadId),
  ]);
  return { ...tail, snapshot: { ...tail.snapshot, ...rest } };
}

export interface OpenedThread extends ReadState {
  /** Newest first. */
  readonly runs: RunResponse[];
  readonly metadata: Record<string, unknown>;
  /** What the snapshot lacks, if the thread can be shown without it. */
  readonly rest: Promise<Snapshot> | null;
}

/**
 * The thread, its runs, and the end of its conversation; null if there is no such thread. A thread at rest is shown before the rest of its
 * state is asked for, because the server takes as long for that as for the messages. If a run is under way or asks something, its events and
 * questions need the whole state. `expectQuestion` is called early if there will be one.
 */
export async function readThread(
  threadId: string,
  branchCheckpoint: string | null,
  expectQuestion: () => void = () => {},
): Promise<OpenedThread | null> {
  const thread = await api.findThread(threadId);
  if (!thread) return null;
  if (thread.status === "interrupted") expectQuestion();
  const waiting = api.interrupts(threadId);
  const reading = readTail(threadId, branchCheckpoint, waiting);
  const knowing = Promise.all([api.listRuns(threadId, 30), waiting]);
  const rests = knowing.then(
    ([runs, { interrupts }]) =>
      !interrupts.length && !runs.some(({ status }) => status === "running" || status === "pending"),
  );
  const rest =
    thread.status === "interrupted"
      ? readRest(threadId)
      : rests.then((isAtRest) => (isAtRest ? reading : null)).then(() => readRest(threadId));
  rest.catch(() => undefined); // Who opens the thread is told by those that come first.
  const [[runs], tail] = await Promise.all([knowing, reading]);
  const last = currentRun(runs.filter((run) => !wasTakenBack(run, tail.snapshot.messages ?? [])));
  const metadata = thread.metadata ?? {};
  const snapshot: Snapshot = {
    ...tail.snapshot,
    ...((await rests) ? {} : await rest),
    title: textOf(metadata["title"]),
    graphId: textOf(metadata["graph_id"]) || null,
    assistantId: textOf(metadata["assistant_id"]) || null,
    lastRun: last ? { runId: last.run_id!, status: last.status!, error: errorOf(thread) } : null,
  };
  return { ...tail, snapshot, runs, metadata, rest: snapshot.values ? null : rest };
}

async function readTail(
  threadId: string,
  branchCheckpoint: string | null,
  waiting: ReturnType<typeof api.interrupts>,
): Promise<ReadState> {
  const [page, { interrupts }] = await Promise.all([
    api.messages(threadId, { limit: PAGE, checkpoint_id: branchCheckpoint }),
    waiting,
  ]);
  return {
    snapshot: { messages: page.messages.toReversed(), before: page.next, interrupts },
    pageCheckpoint: page.checkpoint_id,
  };
}

async function readRest(threadId: string): Promise<Snapshot> {
  const state = await api.state(threadId);
  return { values: (state.values ?? {}) as Record<string, unknown>, checkpointId: checkpointOf(state) };
}

function errorOf(thread: { error?: unknown }): string | null {
  const error = thread.error as { message?: unknown } | null | undefined;
  return typeof error?.message === "string" ? error.message : null;
}

function checkpointOf(state: { checkpoint?: Record<string, unknown> | null }): string | null {
  return textOf(state.checkpoint?.["checkpoint_id"]) || null;
}
