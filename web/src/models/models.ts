/** Loading an embedded model. */

import { stream } from "../api";

/** An event of the loading's stream, which the server's document does not describe. */
export interface LoadEvent {
  status: "idle" | "downloading" | "loading" | "ready" | "error";
  progress: number | null;
  file: string | null;
  modelId: string;
  message?: string;
}

/** Load an embedded model and tell how far it is. Resolves when it is ready; rejects with the sentence of its last event. */
export async function loadModel(id: string, onEvent: (event: LoadEvent) => void, signal: AbortSignal): Promise<void> {
  let last: LoadEvent | null = null;
  const isLast = (event: LoadEvent | null) => event?.status === "ready" || event?.status === "error";
  await stream(
    `/api/model/load?model=${encodeURIComponent(id)}`,
    { method: "POST", signal, reconnect: false, isLast: (frame) => isLast(frame.data as LoadEvent) },
    (frames) => {
      for (const frame of frames) onEvent((last = frame.data as LoadEvent));
    },
  );
  const end = last as LoadEvent | null;
  if (end?.status === "error") throw new Error(end.message ?? "The model could not be loaded.");
}

export function statusWords(model: Pick<LoadEvent, "status" | "progress">): string {
  switch (model.status) {
    case "ready":
      return "ready";
    case "idle":
      return "not loaded";
    case "downloading":
      return model.progress === null ? "downloading" : `downloading, ${Math.round(model.progress)} %`;
    case "loading":
      return "loading";
    case "error":
      return "failed";
  }
}
