/** The report of the open conversation: fetched once, and shown by the transcript, the side panel and the report's own page alike. */

import { ApiError } from "../api";
import { Loaded } from "../lib/loaded.svelte";
import { fetchEarlierReport, fetchReport, verifyThread, type Claim, type Report, type Verified } from "./evidence";

class OpenReport {
  readonly loaded: Loaded<Report | null>;
  private chosenId = $state<string | null>(null);
  /** How many places show the report in the conversation, where its sentences can be chosen. */
  inline = $state(0);
  /** How many side panels are in view, where the evidence of a chosen sentence is shown. */
  panels = $state(0);
  checked = $state.raw<Verified | null>(null);
  checking = $state(false);
  unchecked = $state.raw<unknown>(null);
  private moment: string | null = null;
  private needed: Promise<void> | null = null;

  constructor(
    readonly threadId: string,
    fetch = () => fetchReport(threadId),
  ) {
    this.loaded = new Loaded(async () => {
      try {
        return await fetch();
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    });
  }

  get report(): Report | null {
    return this.loaded.value;
  }

  /** The sentence whose evidence is shown. */
  get chosen(): Claim | null {
    return this.report?.claims.find((claim) => claim.claim_id === this.chosenId) ?? null;
  }

  /** Show a sentence's evidence, or close it if it is shown already. */
  choose(claim: Claim | null): void {
    this.chosenId = claim && claim.claim_id !== this.chosenId ? claim.claim_id : null;
  }

  /** Fetch the report as it is at this moment of the conversation, once for each moment. */
  async load(moment: string): Promise<void> {
    if (this.moment === moment) return;
    const isFirst = this.moment === null;
    this.moment = moment;
    if (!isFirst || !this.needed) return this.reload();
    await this.needed;
  }

  /** Fetch the report unless it is here already with this text, or on its way. */
  async need(text: string): Promise<void> {
    if (this.report?.report !== text && !this.loaded.loading) await (this.needed = this.reload());
  }

  async reload(): Promise<void> {
    const before = this.report?.head;
    await this.loaded.load();
    if (before !== this.report?.head) [this.chosenId, this.checked, this.unchecked] = [null, null, null];
  }

  async verify(): Promise<void> {
    [this.checking, this.unchecked] = [true, null];
    try {
      this.checked = await verifyThread(this.threadId);
    } catch (error) {
      this.unchecked = error;
    } finally {
      this.checking = false;
    }
  }
}

export type { OpenReport };

let current: OpenReport | null = null;

/** A report that others have followed: its evidence is shown, and it is not verified or exported by itself. `known`: it was the newest here. */
export function earlierReport(threadId: string, text: string, known: Report | null): OpenReport {
  const open = new OpenReport(threadId, () => fetchEarlierReport(threadId, text));
  open.loaded.value = known;
  return open;
}

export function reportOf(threadId: string): OpenReport {
  if (current?.threadId !== threadId) current = new OpenReport(threadId);
  return current;
}
