/**
 * The project that goes along with a message, for graphs that work with a person's files: which one it is, and whether changes need
 * approval. A graph says so itself: its input or its configuration has a field `current_project_id`.
 */

import { request, type Schemas } from "../api";
import { server } from "../state/server.svelte";
import type { MessageContext, OutgoingMessage } from "../state/message-context";
import { currentProject } from "./projects";

const FIELD = "current_project_id";
const NOTES = "keep_notes";

type Way = "input" | "configurable" | null;

interface Taken {
  readonly way: Way;
  /** It keeps notes of its own, and wants to know whether it may. */
  readonly notes: boolean;
}

const ways = new Map<string, Promise<Taken>>();

export async function projectContext({ graphId }: OutgoingMessage): Promise<MessageContext | null> {
  const { way, notes } = await takenBy(graphId);
  if (!way) return null;
  const project = await currentProject();
  const kept = notes ? { [NOTES]: project?.keeps_notes ?? null } : {};
  return { [way]: { [FIELD]: project?.id ?? null, write_approval: project?.write_approval ?? null, ...kept } };
}

/** Asked once. */
function takenBy(graphId: string): Promise<Taken> {
  const known = ways.get(graphId) ?? ask(graphId);
  ways.set(graphId, known);
  known.catch(() => ways.delete(graphId));
  return known;
}

async function ask(graphId: string): Promise<Taken> {
  const assistant = server.assistants.find((each) => each.graphId === graphId)?.assistantId ?? graphId;
  const schemas = await request<Schemas["GraphSchemas"]>(`/assistants/${encodeURIComponent(assistant)}/schemas`);
  const [input, config] = [fieldsOf(schemas.input_schema), fieldsOf(schemas.config_schema)];
  if (FIELD in input) return { way: "input", notes: NOTES in input };
  return { way: FIELD in config ? "configurable" : null, notes: NOTES in config };
}

function fieldsOf(schema: Record<string, unknown> | null): object {
  const properties = schema?.["properties"];
  return typeof properties === "object" && properties !== null ? properties : {};
}
