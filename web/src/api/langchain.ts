// What LangChain and LangGraph put on the wire. The server hands it through: its own document (`schema.ts`) says only that it is an object.

import type { components } from "./schema";

/** A message, whole or a chunk of one. */
export interface WireMessage {
  type?: string;
  id?: string | null;
  content?: unknown;
  name?: string | null;
  tool_calls?: { id?: string | null; name?: string; args?: unknown }[];
  tool_call_chunks?: {
    id?: string | null;
    name?: string | null;
    args?: string | null;
    index?: number | string | null;
  }[];
  tool_call_id?: string | null;
  status?: string;
  usage_metadata?: { input_tokens?: number; output_tokens?: number } | null;
  additional_kwargs?: { reasoning_content?: unknown; [mark: string]: unknown } | null;
  /** `finish_reason: "cancelled"`: the server kept what was said until the run was stopped. */
  response_metadata?: { finish_reason?: unknown; stepwell_model?: unknown } | null;
}

/** A question of a graph: as an event brings it (`id`, `value`), or as the server lists it. */
export type WireInterrupt = Partial<components["schemas"]["WaitingResponse"]> & { id?: string; value?: unknown };
