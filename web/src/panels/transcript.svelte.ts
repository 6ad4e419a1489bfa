// A subagent's messages: live while it works, and as the server has stored them once it is opened after that.

import { request, type Schemas, type WireMessage } from "../api";
import { readMessage } from "../state/messages";
import type { Message } from "../state/types";

type Page = Omit<Schemas["SubAgentMessagesResponse"], "messages"> & { messages: WireMessage[] };

const PAGE = 50;

export class StoredTranscript {
  /** Oldest first; null until they were read. */
  messages = $state.raw<readonly Message[] | null>(null);
  /** Why they cannot be read, as the server says it. */
  problem = $state("");
  loading = $state(false);
  next = $state<string | null>(null);

  constructor(
    private readonly threadId: string,
    private readonly taskId: string,
  ) {}

  /** The newest page; `earlier`: the one before what is shown. */
  async load(earlier = false): Promise<void> {
    if (this.loading) return;
    this.loading = true;
    try {
      const page = await this.read(earlier ? this.next : null);
      const read = page.messages.flatMap((wire) => readMessage(wire, "", null) ?? []).toReversed();
      this.messages = earlier ? [...read, ...(this.messages ?? [])] : read;
      [this.next, this.problem] = [page.next, ""];
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    } finally {
      this.loading = false;
    }
  }

  private read(before: string | null): Promise<Page> {
    const [thread, task] = [this.threadId, this.taskId].map(encodeURIComponent);
    const from = before === null ? "" : `&before=${before}`;
    return request<Page>(`/threads/${thread}/subagents/${task}/messages?limit=${PAGE}${from}`);
  }
}
