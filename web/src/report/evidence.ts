/** A research's report and what it rests on, as the server gives it. */

import { request, send } from "../api";
import type { components } from "../api/schema";

type Schemas = components["schemas"];

export type Verdict = Schemas["ClaimResponse"]["verdict"];
export type Claim = Schemas["ClaimResponse"];
/** Its offsets are code points of the stored text. */
export type Quote = Schemas["QuoteResponse"];
export type Source = Schemas["SourceResponse"];

export interface Receipt {
  requests?: { at?: string; method?: string; url?: string; model?: string; host?: string; bytes?: number; why?: string }[];
  refused?: { at?: string; url?: string; rule?: string; reason?: string }[];
  totals?: { requests?: number; bytes?: number };
}

export interface Report {
  question: string;
  mode: string;
  asked_at: string | null;
  report: string;
  /** Source ids in the order of the report's numbers: [1] is the first. */
  references: string[];
  head: string;
  approvals: { at: string; data: Record<string, unknown> }[];
  elsewhere: number;
  claims: Claim[];
  quotes: Quote[];
  sources: Source[];
  egress: Receipt;
}

export interface VerifiedPart {
  part: string;
  title: string;
  ok: boolean;
  checked: number | null;
  problems: { where: string; fact: string }[];
}

export interface Verified {
  ok: boolean;
  head: string;
  parts: VerifiedPart[];
  counts: { sources: number; quotes: number; claims: number; elsewhere: number };
}

export const FORMATS = [
  ["html", "Web page"],
  ["pdf", "PDF"],
  ["docx", "Word"],
  ["md", "Markdown"],
  ["bib", "Sources as BibTeX"],
  ["json", "Sources as CSL-JSON"],
  ["zip", "Bundle with all evidence"],
] as const;

export const MOST_BYTES = 64 * 1024 * 1024;
const VERIFY_MS = 120_000;

const of = (threadId: string) => `/api/research/${encodeURIComponent(threadId)}`;

export function fetchReport(threadId: string): Promise<Report> {
  return request<Report>(`${of(threadId)}/report`);
}

export async function fetchText(threadId: string, sourceId: string): Promise<string> {
  return (await request<{ text: string }>(`${of(threadId)}/sources/${encodeURIComponent(sourceId)}/text`)).text;
}

export function verifyThread(threadId: string): Promise<Verified> {
  return request<Verified>(`${of(threadId)}/verify`, { timeoutMs: VERIFY_MS });
}

/** Check a bundle that somebody gave us. */
export function verifyBundle(file: Blob): Promise<Verified> {
  if (file.size > MOST_BYTES)
    throw new Error(`A bundle may have ${MOST_BYTES / 1024 / 1024} MB; this file is larger. Check it with: stepwell verify FILE`);
  return request<Verified>("/api/research/verify", {
    method: "POST",
    body: file,
    headers: { "Content-Type": "application/zip" },
    timeoutMs: VERIFY_MS,
  });
}

export async function fetchExport(threadId: string, format: string): Promise<Blob> {
  const response = await send(`${of(threadId)}/export?format=${encodeURIComponent(format)}`, {
    headers: { Accept: "*/*" },
    timeoutMs: VERIFY_MS,
  });
  return response.blob();
}
