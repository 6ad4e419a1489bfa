// The server's routes about money, typed from its OpenAPI document. A token goes in by `validate` and `fund`, in the body and nowhere else,
// and comes out by `claim`.

import { postOnce, request, type Schemas } from "../api";
import { hashOf } from "../device/content";

export type Session = Schemas["BalanceResponse"];
export type Entry = Schemas["EntryResponse"];
export type Valuation = Schemas["ValuationResponse"];
export type Refund = Schemas["RefundResponse"];

/** The same for each call, or sats for a million tokens by model ("*": every other one). */
export type Price =
  | { kind: "flat"; sats_per_call: number }
  | {
      kind: "tokens";
      minimum_sats: number;
      models: Record<string, { input_sats_per_million: number; output_sats_per_million: number }>;
    };

export type Pricing = Omit<Schemas["PricingResponse"], "price"> & { price?: Price | null };

export interface Wish {
  token: string;
  /** The session to top up; without it a new one is made. */
  funding_id?: string;
  /** The most that may ever be spent from it. */
  ceiling_sats?: number;
}

type Funded = Schemas["FundResponse"];

const post = <T>(route: string, json: unknown) => request<T>(`/api/wallet/${route}`, { method: "POST", json });
const named = (fundingId: string) => `funding_id=${encodeURIComponent(fundingId)}`;

/** As many as the page lists; older ones are over. */
const SESSIONS = 50;
export const HISTORY_PAGE = 500;

export const money = {
  pricing: () => request<Pricing>("/api/wallet/pricing"),
  sessions: () => request<Session[]>(`/api/wallet/sessions?limit=${SESSIONS}`),
  balance: (fundingId: string) => request<Session>(`/api/wallet/balance?${named(fundingId)}`),
  history: (fundingId: string, after: number) =>
    request<Entry[]>(`/api/wallet/history?${named(fundingId)}&after=${after}&limit=${HISTORY_PAGE}`),
  validate: (token: string) => post<Valuation>("validate", { token }),
  /** The same wish has the same key, after a lost answer or a reload too: the same money in the same place. */
  fund: async (wish: Wish) => postOnce<Funded>("/api/wallet/fund", wish, await hashOf(JSON.stringify(wish))),
  refund: (fundingId: string) => post<Refund>("refund", { funding_id: fundingId }),
  claim: (refundId: string) => post<Schemas["ClaimedRefund"]>("claim", { refund_id: refundId }),
};
