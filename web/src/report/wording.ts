/** Verdicts, dates and hashes as a person reads them. The words are those of the exported documents. */

import type { Claim, Report, Verdict, Verified } from "./evidence";

export const VERDICTS: Record<Verdict, { sign: string; word: string; tone: "good" | "warn" | "bad" }> = {
  supported: { sign: "✓", word: "Supported", tone: "good" },
  partial: { sign: "~", word: "Partly supported", tone: "warn" },
  unsupported: { sign: "✕", word: "Not supported", tone: "bad" },
  contradicted: { sign: "✕", word: "Contradicted by its source", tone: "bad" },
};

export const ROBOTS: Record<string, string> = {
  allowed: "allowed",
  disallowed: "refused",
  none: "the site has none",
  unreachable: "could not be read",
  "n/a": "does not apply",
};

/** "14 of 16 sentences hold, 2 partly; 3 were left out." */
export function summaryOf(report: Report): string {
  const kept = report.claims.filter((claim) => claim.in_report);
  const holds = kept.filter((claim) => claim.verdict === "supported").length;
  const partly = kept.filter((claim) => claim.verdict === "partial").length;
  const bad = kept.length - holds - partly;
  const out = report.claims.length - kept.length;
  const parts = [
    `${holds} of ${kept.length} sentences hold`,
    partly ? `${partly} partly` : "",
    bad ? `${bad} are marked as not supported` : "",
  ];
  return `${parts.filter(Boolean).join(", ")}; ${out === 0 ? "none was" : out === 1 ? "one was" : `${out} were`} left out.`;
}

export function reasonOf(claim: Claim): string {
  return claim.reasons.join(" ");
}

export function dateAndTime(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime())
    ? iso
    : date.toLocaleString("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
}

/** "9f2c 71aa 04d8…" */
export function shortHash(hash: string): string {
  return hash.length > 12 ? `${hash.slice(0, 4)} ${hash.slice(4, 8)} ${hash.slice(8, 12)}…` : hash;
}

/** What checking may say beside whether it holds; a server of an older version says none of it. */
export type Checked = Verified & {
  signed_by?: string | null;
  vouched?: boolean | null;
  lacks?: string[];
  notes?: string[];
  marked_today?: { where: string; fact: string }[];
};

/** Who vouches for a bundle, in a sentence; nothing where nobody does, which `lacks` then says. */
export function signatureOf(checked: Checked): string {
  if (!checked.signed_by) return "";
  if (checked.vouched) return "It was sealed by the key that you named:";
  return "Signed by the key below. Anybody can make one: compare it with the key of whoever should have made it.";
}
