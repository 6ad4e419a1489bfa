// The person's money on this server: what things cost, what they have, and which session pays for which conversation. Every visit loads
// this, so it is small; what needs more is fetched with the dialog.
//
//   a message to an assistant that costs something ─┬─ a session can pay ───────────> it is sent with that session's id
//                                                   └─ none can ── the wallet opens ─┬─ money came ──> sent
//                                                                                    └─ closed ──────> it stays in the composer

import { ApiError, onAnswered } from "../api";
import { provideContext, addSendCondition, type OutgoingMessage, type Intent } from "../state/message-context";
import { toasts } from "../ui/toasts.svelte";
import { money, type Pricing, type Session } from "./api";
import { available, hasToken, isOpen, leastOf, totalOf } from "./words";

/** A message that waits for money. */
export interface Purpose extends Intent {
  readonly settle: (paid: boolean) => void;
}

const PAYMENT_REQUIRED = 402;
const TOKEN_IN_MESSAGE =
  "There is a Cashu token in this message, and whoever reads the conversation could spend it. It was not sent. To pay, hand it in with the wallet.";

class Wallet {
  /** Null: not known yet, or an older server. */
  pricing = $state.raw<Pricing | null>(null);
  /** Those used last come first. */
  sessions = $state.raw<readonly Session[]>([]);
  /** Why it is not known how things stand. */
  problem = $state.raw<unknown>(null);
  purpose = $state.raw<Purpose | null>(null);
  /** Thread -> session. The server remembers it too; this saves asking. */
  private readonly payers = new Map<string, string>();
  private open: (() => void) | null = null;
  private heard = 0;
  /** A server from before there were prices: everything is as it was. */
  isOlder = $state(false);

  /** After signing in. `open` shows the dialog. */
  async load(open: () => void): Promise<void> {
    if (!this.open) this.watch();
    this.open = open;
    [this.pricing, this.isOlder] = [null, false];
    await this.refresh();
  }

  /** Prices once, what there is each time. What was known stays where that fails. */
  async refresh(): Promise<void> {
    if (this.isOlder) return;
    try {
      this.pricing ??= await money.pricing();
      if (this.pricing.charged)
        await this.hear(
          () => money.sessions(),
          (sessions) => (this.sessions = sessions),
        );
      this.problem = null;
    } catch (error) {
      this.isOlder = !this.pricing && error instanceof ApiError && error.status === 404;
      this.problem = this.isOlder ? null : error;
    }
  }

  /** One session, as after a call that it paid for. */
  async look(fundingId: string): Promise<void> {
    const put = (now: Session) => {
      const known = this.sessions.some((each) => each.funding_id === fundingId);
      this.sessions = known
        ? this.sessions.map((each) => (each.funding_id === fundingId ? now : each))
        : [now, ...this.sessions];
    };
    await this.hear(() => money.balance(fundingId), put).catch((error: unknown) => (this.problem = error));
  }

  /** What was heard meanwhile may be newer than what was asked before: then it is asked again. */
  private async hear<Told>(ask: () => Promise<Told>, take: (told: Told) => void): Promise<void> {
    for (;;) {
      const before = this.heard;
      const told = await ask();
      if (before !== this.heard) continue;
      this.heard++;
      return take(told);
    }
  }

  get total(): number {
    return totalOf(this.sessions);
  }

  costs(graphId: string | null): boolean {
    return graphId !== null && this.pricing?.charged === true && this.pricing.graphs.includes(graphId);
  }

  /** The thread says which session it draws on. */
  note(threadId: string, fundingId: string): void {
    this.payers.set(threadId, fundingId);
  }

  /** What a token for this thread is added to: the session it draws on, or else the newest. Null: a new one is made. */
  drawsOn(threadId: string | null): Session | null {
    const own = this.sessions.find((each) => each.funding_id === this.payers.get(threadId ?? ""));
    return (own && isOpen(own) ? own : this.sessions.find(isOpen)) ?? null;
  }

  /** Whoever can pay for the next call: the thread's own session, or another with money. */
  payerFor(threadId: string | null): Session | null {
    const least = leastOf(this.pricing?.price ?? null);
    const own = this.payers.get(threadId ?? "");
    const able = this.sessions.filter((each) => isOpen(each) && each.state !== "rejected" && available(each) >= least);
    return able.find((each) => each.funding_id === own) ?? able[0] ?? null;
  }

  /** The dialog was closed: what waits for money is not sent. */
  dismiss(): void {
    this.settle(false);
  }

  /** The dialog could not be fetched. */
  readonly unopened = (error: unknown): never => {
    this.settle(false);
    throw error;
  };

  /** Money has come. */
  async paid(fundingId: string): Promise<void> {
    if (this.purpose?.threadId) this.note(this.purpose.threadId, fundingId);
    await this.refresh();
    this.settle(true);
  }

  private settle(paid: boolean): void {
    this.purpose?.settle(paid);
    this.purpose = null;
  }

  private watch(): void {
    addSendCondition((intent) => this.clear(intent));
    provideContext((message) => this.payFor(message));
    // The session has ended meanwhile, or somebody went past `clear`: the person sees why, and where to add money.
    onAnswered((outcome) => {
      if (outcome.answered && outcome.status === PAYMENT_REQUIRED) void this.refresh().then(() => this.open?.());
    });
  }

  private async clear(intent: Intent): Promise<boolean> {
    if (hasToken(intent.text)) {
      toasts.show(TOKEN_IN_MESSAGE, { kind: "bad", ms: 10_000 });
      return false;
    }
    if (this.pricing && !this.costs(intent.graphId)) return true;
    await this.refresh();
    if (this.problem || !this.costs(intent.graphId) || this.payerFor(intent.threadId)) return true; // the server decides what is not known here
    this.dismiss();
    return new Promise((resolve) => {
      this.purpose = { ...intent, settle: resolve };
      this.open?.();
    });
  }

  private async payFor(message: OutgoingMessage): Promise<{ configurable: { funding_id: string } } | null> {
    const payer = this.costs(message.graphId) ? this.payerFor(message.threadId) : null;
    if (!payer) return null;
    this.note(message.threadId, payer.funding_id);
    return { configurable: { funding_id: payer.funding_id } };
  }
}

export const wallet = new Wallet();
