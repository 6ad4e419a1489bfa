/** A research's report and what it rests on, as the server gives it. */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { request, send, type Schemas } from "../api";

export type Verdict = Schemas["ClaimResponse"]["verdict"];
export type Claim = Schemas["ClaimResponse"];
/** Its offsets are code points of the stored text. */
export type Quote = Schemas["QuoteResponse"];
export type Source = Schemas["SourceResponse"];

export type Report = Schemas["ReportResponse"];
export type Verified = Schemas["VerificationResponse"];

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

/** An earlier report of a thread, by its text. */
export function fetchEarlierReport(threadId: string, text: string): Promise<Report> {
  return request<Report>(`${of(threadId)}/report?sha256=${bytesToHex(sha256(utf8ToBytes(text)))}`);
}

export async function fetchText(threadId: string, sourceId: string): Promise<string> {
  return (await request<Schemas["SourceTextResponse"]>(`${of(threadId)}/sources/${encodeURIComponent(sourceId)}/text`))
    .text;
}

export function verifyThread(threadId: string): Promise<Verified> {
  return request<Verified>(`${of(threadId)}/verify`, { timeoutMs: VERIFY_MS });
}

/** Check a bundle that somebody gave us. */
export function verifyBundle(file: Blob): Promise<Verified> {
  if (file.size > MOST_BYTES)
    throw new Error(
      `A bundle may have ${MOST_BYTES / 1024 / 1024} MB; this file is larger. Check it with: stepwell verify FILE`,
    );
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
