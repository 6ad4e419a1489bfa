/**
 * The project that goes along with a message, for graphs that work with a person's files: which one it is, and whether changes need
 * approval. A graph says so itself: its input or its configuration has a field `current_project_id`.
 */

import { request } from "../api";
import { server } from "../state/server.svelte";
import type { Along, Asking } from "../state/companions";
import { currentProject } from "./projects";

const FIELD = "current_project_id";

type Way = "input" | "configurable" | null;
interface Schemas {
  input_schema?: { properties?: Record<string, unknown> } | null;
  config_schema?: { properties?: Record<string, unknown> } | null;
}

const ways = new Map<string, Promise<Way>>();

export async function projectAlong({ graphId }: Asking): Promise<Along | null> {
  const way = await wayOf(graphId);
  if (!way) return null;
  const project = await currentProject();
  return { [way]: { [FIELD]: project?.id ?? null, write_approval: project?.write_approval ?? null } };
}

/** How a graph takes a project; asked once. */
export function wayOf(graphId: string): Promise<Way> {
  const known = ways.get(graphId) ?? ask(graphId);
  ways.set(graphId, known);
  known.catch(() => ways.delete(graphId));
  return known;
}

async function ask(graphId: string): Promise<Way> {
  const assistant = server.assistants.find((each) => each.graphId === graphId)?.assistantId ?? graphId;
  const schemas = await request<Schemas>(`/assistants/${encodeURIComponent(assistant)}/schemas`);
  if (schemas.input_schema?.properties && FIELD in schemas.input_schema.properties) return "input";
  return schemas.config_schema?.properties && FIELD in schemas.config_schema.properties ? "configurable" : null;
}
