// Messages to a run that works: what the server keeps of them until the agent has read them.

import { request, type Schemas, type WireMessage } from "../../api";
import { readContent, readPictures } from "../messages";
import type { Queued } from "./queue";

const at = (threadId: string) => `/threads/${threadId}/waiting-messages`;

/** The messages that no run has taken yet, oldest first. */
export async function readWaiting(threadId: string): Promise<Queued[]> {
  const { messages } = await request<Schemas["WaitingMessages"]>(at(threadId));
  return messages.map(({ message_id: id, run_id: runId, content }) => {
    const message = { type: "human", id, content } as WireMessage;
    return { id, runId, text: readContent(message).text, pictures: readPictures(content), steers: true };
  });
}

/** Takes back a message that waits. Refused if the agent has it already. */
export async function withdraw(threadId: string, messageId: string): Promise<void> {
  await request<void>(`${at(threadId)}/${encodeURIComponent(messageId)}`, { method: "DELETE" });
}
