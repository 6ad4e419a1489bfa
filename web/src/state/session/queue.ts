// Messages that wait for the end of a run, or for its next step, oldest first. Pure: each function gives another queue.

import type { RunResponse } from "../../api";
import { readContent, readPictures } from "../messages";
import type { Picture } from "../types";
import { inputMessages } from "./runs";

export interface Queued {
  readonly id: string;
  readonly text: string;
  readonly pictures: readonly Picture[];
  /** Null: the server does not have it yet. */
  readonly runId: string | null;
  /** It enters the run `runId`, which works, with its next model call. */
  readonly steers?: boolean;
}

export type Queue = readonly Queued[];

/** The queue as the server has it: its pending runs, of which it lists the newest first. */
export function readQueue(runs: readonly RunResponse[]): Queue {
  return runs
    .filter((run) => run.status === "pending")
    .toReversed()
    .flatMap((run) =>
      inputMessages(run).map((message) => ({
        id: message.id!,
        text: readContent(message).text,
        pictures: readPictures(message.content),
        runId: run.run_id!,
      })),
    );
}

export const add = (queue: Queue, id: string, text: string, pictures: readonly Picture[] = []): Queue => [
  ...queue,
  { id, text, pictures, runId: null },
];

export const remove = (queue: Queue, id: string): Queue => queue.filter((each) => each.id !== id);

/** The server has it, as this run or for it. */
export const accept = (queue: Queue, id: string, runId: string, steers = false): Queue =>
  queue.map((each) => (each.id === id ? { ...each, runId, steers } : each));

export const ofRun = (queue: Queue, runId: string): Queued | undefined =>
  queue.find((each) => each.runId === runId && !each.steers);
