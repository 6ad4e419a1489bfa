/** Which model runs, which could be loaded here, and loading one. */

import { request, stream } from "../api";

export interface Model {
  /** "provider:name" */
  id: string;
  name: string;
  provider: string;
  embedded: boolean;
  tools: boolean;
  writes: boolean;
  context: number;
  size_bytes: number | null;
  /** Its file is here: loading needs no network. */
  downloaded?: boolean;
  about: string;
  status: "ready" | "idle" | "downloading" | "loading" | "error";
  /** 0 to 100. */
  progress: number | null;
  message: string | null;
}

export interface Models {
  current: (Model & { reason: string }) | null;
  problem: string | null;
  /** What runs now and how to do better. */
  sentence: string;
  embedded: Model[];
}

export interface LoadEvent {
  status: Model["status"];
  progress: number | null;
  file: string | null;
  modelId: string;
  message?: string;
}

export function fetchModels(): Promise<Models> {
  return request<Models>("/api/models");
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

/** What it can and cannot do, as pairs of yes or no and words. */
export function abilitiesOf(model: Model): { can: boolean; words: string }[] {
  return [
    { can: model.writes, words: model.writes ? "writes reports and answers" : "cannot write reports: research is made of quotes" },
    { can: model.tools, words: model.tools ? "uses tools and subagents" : "cannot use tools reliably" },
    { can: true, words: `reads ${model.context.toLocaleString("en")} tokens at once` },
    {
      can: model.embedded,
      words: model.embedded
        ? "runs on this machine; nothing leaves it"
        : `is reached at ${model.provider}; what you write goes there`,
    },
  ];
}

export function statusWords(model: Pick<Model, "status" | "progress">): string {
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
