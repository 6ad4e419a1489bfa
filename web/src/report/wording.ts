/** Verdicts, dates and hashes as a person reads them. */

import { plural } from "../lib/words";
import type { Claim, Report, Source, Verdict, Verified } from "./evidence";
import { claimsOf } from "./reading";

export const VERDICTS: Record<Verdict, { sign: string; word: string; tone: "good" | "warn" | "bad" }> = {
  supported: { sign: "✓", word: "Found in its source", tone: "good" },
  partial: { sign: "~", word: "Found in part", tone: "warn" },
  unsupported: { sign: "✕", word: "Not found in its source", tone: "bad" },
  contradicted: { sign: "✕", word: "Differs from its source", tone: "bad" },
};

export const ROBOTS: Record<string, string> = {
  allowed: "allowed",
  disallowed: "refused",
  none: "the site has none",
  unreachable: "could not be read",
  "n/a": "does not apply",
};

/** "Every sentence was found in its source: 9 of 9." or "7 of 9 sentences were found in their sources. Left out: 1 that differs, …". */
export function summaryOf(report: Pick<Report, "claims">): string {
  const all = report.claims;
  if (!all.length) return "";
  const found = all.filter((claim) => claim.verdict === "supported").length;
  if (found === all.length) return `Every sentence was found in its source: ${found} of ${found}.`;
  const partly = all.filter((claim) => claim.verdict === "partial").length;
  const head = `${found} of ${plural(all.length, "sentence")} ${found === 1 ? "was found in its source" : "were found in their sources"}${partly ? `, ${partly} only in part` : ""}.`;
  const marked = failed(all.filter((claim) => claim.in_report));
  const out = failed(all.filter((claim) => !claim.in_report));
  return [head, marked && `Marked: ${marked}.`, out && `Left out: ${out}.`].filter(Boolean).join(" ");
}

function failed(claims: readonly Claim[]): string {
  const differs = claims.filter((claim) => claim.verdict === "contradicted").length;
  const missing = claims.filter((claim) => claim.verdict === "unsupported").length;
  return [
    differs ? `${differs} that ${differs === 1 ? "differs from its source" : "differ from their sources"}` : "",
    missing ? `${missing} that ${missing === 1 ? "was" : "were"} not found` : "",
  ]
    .filter(Boolean)
    .join(", ");
}

/** "Supports 7 sentences, differs from 1". */
export function standingOf(report: Report, source: Source): { words: string; tone: "good" | "warn" } {
  const claims = claimsOf(report, source);
  const count = (verdict: Verdict) => claims.filter((claim) => claim.verdict === verdict).length;
  const [supports, partly, differs] = [count("supported"), count("partial"), count("contradicted")];
  const words = [
    supports ? `supports ${plural(supports, "sentence")}` : "",
    partly ? `supports ${supports ? partly : plural(partly, "sentence")} in part` : "",
    differs ? `differs from ${supports || partly ? differs : plural(differs, "sentence")}` : "",
  ].filter(Boolean);
  const said = words.join(", ");
  return { words: said.slice(0, 1).toUpperCase() + said.slice(1), tone: partly || differs ? "warn" : "good" };
}

/** What is wrong with a sentence, in a sentence; empty if nothing is. */
export function problemOf(claim: Claim): string {
  const reason = claim.reasons[0] ?? "";
  if (claim.verdict === "contradicted") {
    const two = /^the claim says '.*', the source '(.+?)'(?:: another unit)?$/s.exec(reason);
    if (two) return `Differs: the source says “${two[1]}”.`;
    return reason ? `Differs: ${quoted(reason)}.` : "Differs from its source.";
  }
  if (claim.verdict === "unsupported")
    return claim.evidence.length ? "Not found in its source." : "It names no source.";
  if (claim.verdict === "partial") return reason ? `${capital(quoted(reason))}.` : "Only part of it is in its source.";
  return "";
}

/** All reasons of the check, for the evidence of one sentence. */
export function reasonsOf(claim: Claim): string[] {
  return claim.reasons.map((reason) => `${capital(quoted(reason)).replace(/[.!?]$/, "")}.`);
}

/** The checks put words between straight quotation marks; an apostrophe inside them is not one. */
const quoted = (text: string) => text.replace(/(^|[\s(])'(.*?)'(?=$|[\s,.;:)])/g, "$1“$2”").replace(/\.$/, "");
const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);

export function dateAndTime(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime())
    ? iso
    : date.toLocaleString("en-GB", {
        day: "numeric",
        month: "short",
        year: "numeric",
        hour: "2-digit",
        minute: "2-digit",
      });
}

/** "9f2c 71aa 04d8…" */
export function shortHash(hash: string): string {
  return hash.length > 12 ? `${hash.slice(0, 4)} ${hash.slice(4, 8)} ${hash.slice(8, 12)}…` : hash;
}

/** Who vouches for a bundle, in a sentence; nothing where nobody does, which `lacks` then says. */
export function signatureOf(checked: Verified): string {
  if (!checked.signed_by) return "";
  if (checked.vouched) return "It was signed with the key that you named:";
  return "Signed with the key below. Anybody can make one: compare it with the key of the person who should have signed.";
}
