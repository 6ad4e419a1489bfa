// The server's public routes that the page uses, typed from its OpenAPI document.

import { request } from "./request";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type ThreadAnswer = Schemas["ThreadAnswer"];
export type RunAnswer = Schemas["RunAnswer"];
export type RunCreate = Schemas["RunCreate"];
export type StateAnswer = Schemas["StateAnswer"];
export type AssistantAnswer = Schemas["AssistantAnswer"];

/** What a run is asked to say. Not `values` and `tasks`: they carry the whole history at each step. */
export const STREAM_MODES = ["updates", "messages-tuple", "custom", "tools", "lifecycle"] as const;

const post = <T>(path: string, json: unknown) => request<T>(path, { method: "POST", json });
const at = (threadId: string) => `/threads/${encodeURIComponent(threadId)}`;

export interface ServerInfo {
  version?: string;
  metadata?: { server?: string };
}

export const api = {
  info: () => request<ServerInfo>("/info"),

  searchAssistants: () => post<AssistantAnswer[]>("/assistants/search", { limit: 100 }),

  searchThreads: (query: Record<string, unknown>) => post<Partial<ThreadAnswer>[]>("/threads/search", query),
  createThread: (metadata: Record<string, unknown>) => post<ThreadAnswer>("/threads", { metadata }),
  getThread: (threadId: string, signal?: AbortSignal) => request<ThreadAnswer>(at(threadId), { signal }),
  patchThread: (threadId: string, metadata: Record<string, unknown>) =>
    request<ThreadAnswer>(at(threadId), { method: "PATCH", json: { metadata } }),
  deleteThread: (threadId: string) => request<void>(at(threadId), { method: "DELETE" }),

  getState: (threadId: string, signal?: AbortSignal) => request<StateAnswer>(`${at(threadId)}/state`, { signal }),
  getStateAt: (threadId: string, checkpointId: string) => request<StateAnswer>(`${at(threadId)}/state/${encodeURIComponent(checkpointId)}`),
  history: (threadId: string, query: Record<string, unknown>) => post<Partial<StateAnswer>[]>(`${at(threadId)}/history`, query),

  listRuns: (threadId: string, limit: number, signal?: AbortSignal) =>
    request<RunAnswer[]>(`${at(threadId)}/runs?limit=${limit}`, { signal }),
  startRun: (threadId: string, run: Omit<RunCreate, "stream_mode" | "stream_subgraphs">) =>
    post<RunAnswer>(`${at(threadId)}/runs`, { ...run, stream_mode: STREAM_MODES, stream_subgraphs: true, stream_resumable: true }),
  cancelRun: (threadId: string, runId: string) =>
    request<void>(`${at(threadId)}/runs/${encodeURIComponent(runId)}/cancel?wait=0&action=interrupt`, { method: "POST" }),
};
