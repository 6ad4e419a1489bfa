// Messages that wait for the end of a run, oldest first. Pure: each function gives another queue.

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

/** The server has it, as this run. */
export const accept = (queue: Queue, id: string, runId: string): Queue =>
  queue.map((each) => (each.id === id ? { ...each, runId } : each));

export const ofRun = (queue: Queue, runId: string): Queued | undefined => queue.find((each) => each.runId === runId);
