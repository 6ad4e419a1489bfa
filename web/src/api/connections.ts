// Connected models on the wire: /api/connections. A key goes to the server once, and never comes back.
// The list itself is fetched by models/connected.svelte.ts, which is part of the page's first load; this module is not.

import { request } from "./request";
import type { components } from "./schema";

type Schemas = components["schemas"];

/** One model through one connection, as it is stored: in a default, or in a thread's metadata. */
export type Choice = Schemas["ModelRef"];
export type ConnectedModel = Schemas["OfferedModel"];
export type Connection = Schemas["ConnectionResponse"];
export type Connections = Schemas["ConnectionsResponse"];
export type Provider = Schemas["ProviderResponse"];
export type Limits = Schemas["LimitsResponse"];
export type NewConnection = Schemas["NewConnection"];
export type ConnectionPatch = Schemas["ConnectionChange"];
export type TestOrder = Schemas["ConnectionTest"];
export type TestResult = Schemas["TestResponse"];
export type SpendRow = Schemas["SpendRow"];
export type Task = keyof Connections["choice"];

const PATH = "/api/connections";
/** A model may take its time to be loaded by Ollama before it says its first word. */
const TEST_MS = 120_000;
const at = (id: string) => `${PATH}/${encodeURIComponent(id)}`;

export const createConnection = (made: NewConnection) => request<Connection>(PATH, { method: "POST", json: made });
export const patchConnection = (id: string, patch: ConnectionPatch) =>
  request<Connection>(at(id), { method: "PATCH", json: patch });
export const deleteConnection = (id: string) => request<void>(at(id), { method: "DELETE" });
export const testConnection = (order: TestOrder, signal?: AbortSignal) =>
  request<TestResult>(`${PATH}/test`, { method: "POST", json: order, timeoutMs: TEST_MS, signal: signal ?? null });
export const putChoice = (scope: "mine" | "everyone", choice: Partial<Record<Task, Choice | null>>) =>
  request<unknown>(`${PATH}/choice`, { method: "PUT", json: { scope, ...choice } });
export const putAllowed = (allowed: string[] | null) =>
  request<unknown>(`${PATH}/allowed`, { method: "PUT", json: { allowed } });
export const fetchSpend = () => request<SpendRow[]>(`${PATH}/spend`);
