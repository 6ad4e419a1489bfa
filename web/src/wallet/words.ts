// Money in words, and the sums behind them. Pure. Amounts are whole sats.

import type { Entry, Price, Session, Valuation } from "./api";

export function sats(amount: number): string {
  return `${amount.toLocaleString("en")} ${Math.abs(amount) === 1 ? "sat" : "sats"}`;
}

export function priceWords(price: Price | null): string {
  if (!price) return "";
  return price.kind === "flat"
    ? `${sats(price.sats_per_call)} for each model call`
    : "by the tokens of each model call";
}

/** What the cheapest call costs: less than that buys nothing. */
export function leastOf(price: Price | null): number {
  return price?.kind === "flat" ? price.sats_per_call : (price?.minimum_sats ?? 0);
}

const STATES: Record<Session["state"], string> = {
  pending: "waits to be approved",
  authorized: "ready; nothing taken yet",
  redeeming: "the mint is being asked",
  active: "in use",
  exhausted: "too little for the next call",
  settling: "being paid back",
  refund_ready: "the rest waits for you",
  refunded: "paid back",
  rejected: "the mint refused the token; nothing was taken",
  error: "held up: the operator has to look",
};
export const stateWords = (session: Session): string =>
  session.state === "refunded" && session.refunded === 0 ? "ended, with nothing left" : STATES[session.state];

const TAKES_MONEY: readonly Session["state"][] = [
  "pending",
  "authorized",
  "redeeming",
  "active",
  "exhausted",
  "rejected",
];
/** A token can be added to it, and runs may draw on it. */
export const isOpen = (session: Session): boolean => TAKES_MONEY.includes(session.state);

/** What a session has, with tokens that were handed in and not redeemed yet. */
export const holds = (session: Session): number => session.balance + session.waiting;

/** What the next call may take: not what other calls hold, and never above the ceiling. */
export function available(session: Session): number {
  if (!isOpen(session)) return 0;
  const free = holds(session) - session.reserved;
  return session.ceiling == null ? free : Math.min(free, session.ceiling - session.spent - session.reserved);
}

export const totalOf = (sessions: readonly Session[]): number =>
  sessions.filter(isOpen).reduce((sum, session) => sum + holds(session), 0);

// The ledger's lines -------------------------------------------------------------------------------------------------------------

const KINDS: Record<Entry["kind"], { words: string; sign: 1 | -1 }> = {
  credit: { words: "Token redeemed", sign: 1 },
  fee: { words: "The mint's fee", sign: -1 },
  charge: { words: "Model call", sign: -1 },
  void: { words: "Taken back: the answer was lost", sign: 1 },
  refund: { words: "Paid back to you", sign: -1 },
};

export interface Line {
  seq: number;
  words: string;
  /** With its sign, as it changes the balance. */
  change: number;
  balance: number;
  at: string;
}

export function linesOf(entries: readonly Entry[]): Line[] {
  let balance = 0;
  return entries.map((entry) => {
    const { words, sign } = KINDS[entry.kind];
    const change = sign * entry.amount_sats;
    balance += change;
    return { seq: entry.seq, words, change, balance, at: entry.at };
  });
}

export interface Sums {
  paidIn: number;
  fees: number;
  spent: number;
  paidBack: number;
  left: number;
  /** Model calls that were charged and not taken back. */
  calls: number;
}

export function sumsOf(entries: readonly Entry[]): Sums {
  const of = (kind: Entry["kind"]) => entries.filter((entry) => entry.kind === kind);
  const sum = (kind: Entry["kind"]) => of(kind).reduce((total, entry) => total + entry.amount_sats, 0);
  const [paidIn, fees, spent, paidBack] = [sum("credit"), sum("fee"), sum("charge") - sum("void"), sum("refund")];
  return {
    paidIn,
    fees,
    spent,
    paidBack,
    left: paidIn - fees - spent - paidBack,
    calls: of("charge").length - of("void").length,
  };
}

// Tokens -------------------------------------------------------------------------------------------------------------------------

/** The longest that the server reads. */
const MOST_CHARS = 1_000_000;

/** What was pasted, without what wallets and mail put around a token. */
export function cleanToken(pasted: string): string {
  return pasted.replace(/\s+/g, "").replace(/^(?:web\+)?cashu:(?:\/\/)?(?=cashu)/i, "");
}

/** Whether a text has a token in it: money, which belongs neither into a message nor into a draft that is kept. */
export const hasToken = (text: string): boolean => /cashu[AB][\w-]{60}/.test(text);

/** Why it need not even be asked about; "" if the server should look. */
export function faultOf(token: string): string {
  if (token.length > MOST_CHARS)
    return "This is too long for a token. Paste the text that begins with cashuA or cashuB, and nothing else.";
  if (/^creq[ab]/i.test(token))
    return "This is a request for money, not money. Paste a token: it begins with cashuA or cashuB.";
  if (/^ln(bc|tb)/i.test(token))
    return "This is a Lightning invoice, not a token. Pay it with a wallet; a token begins with cashuA or cashuB.";
  return "";
}

/** Why a token is not taken, and what became of it. The server's sentence says what is wrong. */
export function refusalWords(worth: Valuation): string {
  const detail = worth.detail ?? "This token is not taken here.";
  return worth.code === "token_spent" || worth.code === "token_in_use"
    ? detail
    : `${detail} Nothing was taken: it is still yours.`;
}

/** A whole number of sats from a field; null for an empty one, undefined for what is none. */
export function readAmount(text: string): number | null | undefined {
  const digits = text.replace(/[\s,_]/g, "");
  if (!digits) return null;
  const amount = /^\d{1,12}$/.test(digits) ? Number(digits) : NaN;
  return Number.isSafeInteger(amount) && amount > 0 ? amount : undefined;
}

/** The mint's place without what is the same everywhere. */
export const mintName = (url: string): string => url.replace(/^https?:\/\//, "").replace(/\/$/, "");
