// The server's public routes that the page uses, typed from its OpenAPI document.

import type { WireMessage } from "./langchain";
import { request } from "./request";
import type { components } from "./schema";

/** What the server says and takes: `Schemas["RunResponse"]`. Nobody declares it a second time. */
export type Schemas = components["schemas"];
export type ThreadResponse = Schemas["ThreadResponse"];
export type RunResponse = Schemas["RunResponse"];
export type RunCreate = Schemas["RunCreate"];
export type StateResponse = Schemas["StateResponse"];
export type AssistantResponse = Schemas["AssistantResponse"];

/** What a run is asked to say. Not `values`, which repeats the state at each step; `tasks` repeats it too, but tells when a node begins. */
const MODES = ["updates", "messages-tuple", "custom", "tools", "lifecycle"];
const MODES_OF_NODES = [...MODES, "tasks"];

/** Graphs whose nodes are the story; for agents it is messages and tool calls. */
const showsNodes = (graphId: string) => /^(deep_)?research/.test(graphId);

const post = <T>(path: string, json: unknown) => request<T>(path, { method: "POST", json });
/** For what starts something. Sent again with the same key, it starts nothing, and gives what it gave before. */
export const postOnce = <T>(path: string, json: unknown, key: string) =>
  request<T>(path, { method: "POST", json, headers: { "Idempotency-Key": key } });
const at = (threadId: string) => `/threads/${encodeURIComponent(threadId)}`;
const query = (given: Record<string, string | number | null | undefined>) =>
  new URLSearchParams(
    Object.entries(given)
      .filter(([, value]) => value != null)
      .map(([key, value]) => [key, String(value)]),
  ).toString();

export type Me = Schemas["Me"];

/** Newest first. */
export type MessagePage = Omit<Schemas["MessagesResponse"], "messages"> & { messages: WireMessage[] };
export type StepRecord = Schemas["StepResponse"];

/** A run that brought an input, with the runs that answered its interrupts. Turns with the same `previous` are versions of one message. */
export type Turn = Schemas["TurnResponse"];
export type TurnPage = Schemas["TurnsResponse"];

const THREAD_FIELDS = ["thread_id", "updated_at", "status", "metadata"];
/** Fields of states that the page shows. A state's messages come by pages. */
const STATE_FIELDS = [
  "todos",
  "checks",
  "files",
  "status",
  "user_query",
  "plan",
  "audit_result",
  "reasoning",
  "done_steps",
  "skipped",
  "denied_sources",
  "final_report",
  "error_message",
  "argument",
  "progress",
  "gcs_root_path",
  "funding_id",
  "async_tasks",
];

export const api = {
  me: () => request<Me>("/api/me"),
  ok: () => request<unknown>("/ok", { timeoutMs: 5_000 }),

  graphs: () => request<Schemas["GraphReadiness"][]>("/api/graphs"),
  searchAssistants: () => post<AssistantResponse[]>("/assistants/search", { limit: 100 }),

  searchThreads: (search: Record<string, unknown>) =>
    post<Partial<ThreadResponse>[]>("/threads/search", { select: THREAD_FIELDS, ...search }),
  /** Without values and questions, which may be large. Undefined: there is none. */
  findThread: async (threadId: string): Promise<Partial<ThreadResponse> | undefined> =>
    (await api.searchThreads({ ids: [threadId], limit: 1, select: ["thread_id", "metadata", "status", "error"] }))[0],
  createThread: (metadata: Record<string, unknown>) =>
    postOnce<ThreadResponse>("/threads", { metadata }, crypto.randomUUID()),
  patchThread: (threadId: string, metadata: Record<string, unknown>) =>
    request<void>(at(threadId), { method: "PATCH", json: { metadata }, headers: { Prefer: "return=minimal" } }),
  deleteThread: (threadId: string) => request<void>(at(threadId), { method: "DELETE" }),

  /** A page begins with what the user said: its steps do not stand alone. */
  messages: (threadId: string, page: { limit?: number; before?: string | null; checkpoint_id?: string | null } = {}) =>
    request<MessagePage>(`${at(threadId)}/messages?whole_turns=1&${query(page)}`),
  turns: (threadId: string) => request<TurnPage>(`${at(threadId)}/turns?limit=200`),
  rewind: (threadId: string, body: Schemas["RewindCreate"]) =>
    post<Schemas["RewindResponse"]>(`${at(threadId)}/rewind`, body),
  steps: (threadId: string, after: number) =>
    request<Schemas["StepsResponse"]>(`${at(threadId)}/steps?after=${after}&limit=200`),
  interrupts: (threadId: string) => request<Schemas["WaitingPage"]>(`${at(threadId)}/interrupts?limit=200`),
  /** The state without its messages and questions. */
  state: (threadId: string) => {
    const fields = [...STATE_FIELDS.map((field) => `values.${field}`), "checkpoint"];
    return request<StateResponse>(`${at(threadId)}/state?${fields.map((field) => `select=${field}`).join("&")}`);
  },

  listRuns: (threadId: string, limit: number) => request<RunResponse[]>(`${at(threadId)}/runs?limit=${limit}`),
  getRun: (threadId: string, runId: string) => request<RunResponse>(`${at(threadId)}/runs/${runId}`),
  /** Whoever tries again gives the same `key` each time. */
  startRun: (
    threadId: string,
    graphId: string,
    run: Omit<RunCreate, "stream_mode" | "stream_subgraphs">,
    key: string = crypto.randomUUID(),
  ) =>
    postOnce<RunResponse>(
      `${at(threadId)}/runs`,
      {
        ...run,
        stream_mode: showsNodes(graphId) ? MODES_OF_NODES : MODES,
        stream_subgraphs: true,
        stream_resumable: true,
      },
      key,
    ),
  cancelRun: (threadId: string, runId: string) =>
    request<void>(`${at(threadId)}/runs/${runId}/cancel?wait=0&action=interrupt`, { method: "POST" }),
};
