/** Levels, dates and hashes as a person reads them. */

import measured from "../../../src/stepwell/research/audit/levels.json";
import { plural } from "../lib/words";
import type { Claim, Report, Source, Verdict, Verified } from "./evidence";
import { claimsOf } from "./reading";

/** What a verdict is called, from the best to the worst. */
export const LEVELS: Record<Verdict, { word: string; tone: "good" | "warn" | "bad" }> = {
  verbatim: { word: "Word for word or nearly", tone: "good" },
  supported: { word: "Supported", tone: "good" },
  partial: { word: "Not settled", tone: "warn" },
  unsupported: { word: "Not in its source", tone: "bad" },
  contradicted: { word: "Differs", tone: "bad" },
};

type Measured = { true: number | null; lowest: number | null; highest: number | null; sets: string[] };
const measuredOf = (verdict: Verdict): Measured => measured.levels[verdict];
const spread = (of: Measured) => (of.sets.length === 1 ? "one data set" : `${of.lowest} to ${of.highest}`);

/** "88 (78 to 93)": how many of 100 sentences of a level are true on public data, and the lowest and highest of a data set. */
export function shareOf(verdict: Verdict): string {
  const of = measuredOf(verdict);
  return of.true === null ? "not measured, too few in public data" : `${of.true} (${spread(of)})`;
}

export function meaningOf(verdict: Verdict): string {
  const of = measuredOf(verdict);
  if (of.true === null) return "Not measured: the public data sets have too few such sentences.";
  return `On public data, ${of.true} of 100 such sentences are true (${spread(of)}).`;
}

const COUNTS = Object.values(measured.sets);
const CLAIMS = COUNTS.reduce((sum, each) => sum + each, 0).toLocaleString("en");
export const METHOD = `${COUNTS.length} data sets with ${CLAIMS} claims, for a writer who is right ${measured.right} % of the time`;

export const ROBOTS: Record<string, string> = {
  allowed: "allowed",
  disallowed: "refused",
  none: "the site has none",
  unreachable: "could not be read",
  "n/a": "does not apply",
};

/** "Every sentence is supported by its source: 9 of 9." or "7 of 9 sentences are supported by their sources; 1 differs, …". */
export function summaryOf(report: Pick<Report, "claims">): string {
  const all = report.claims;
  if (!all.length) return "";
  const count = (...verdicts: Verdict[]) => all.filter((claim) => verdicts.includes(claim.verdict)).length;
  const held = count("verbatim", "supported");
  if (held === all.length) return `Every sentence is supported by its source: ${held} of ${held}.`;
  const others = [
    counted(count("partial"), "is not settled", "are not settled"),
    counted(count("contradicted"), "differs", "differ"),
    counted(count("unsupported"), "is not in its source", "are not in their sources"),
  ].filter(Boolean);
  const supported = held === 1 ? "is supported by its source" : "are supported by their sources";
  return `${held} of ${plural(all.length, "sentence")} ${supported}; ${others.join(", ")}.`;
}

const counted = (count: number, one: string, many: string) => (count ? `${count} ${count === 1 ? one : many}` : "");

/** "Supports 7 sentences, differs from 1". */
export function standingOf(report: Report, source: Source): { words: string; tone: "good" | "warn" } {
  const claims = claimsOf(report, source);
  const count = (...verdicts: Verdict[]) => claims.filter((claim) => verdicts.includes(claim.verdict)).length;
  const [supports, open, differs] = [count("verbatim", "supported"), count("partial"), count("contradicted")];
  const words = [
    supports ? `supports ${plural(supports, "sentence")}` : "",
    open ? `does not settle ${supports ? open : plural(open, "sentence")}` : "",
    differs ? `differs from ${supports || open ? differs : plural(differs, "sentence")}` : "",
  ].filter(Boolean);
  return { words: capital(words.join(", ")), tone: open || differs ? "warn" : "good" };
}

/** The level of a sentence that is not supported, and why; empty for others. */
export function problemOf(claim: Pick<Claim, "verdict" | "reasons" | "evidence">): string {
  const reason = spelled(claim.reasons[0] ?? "");
  if (claim.verdict === "contradicted") return reason ? `Differs: ${reason}.` : "Differs from its source.";
  if (claim.verdict === "unsupported") return claim.evidence.length ? "Not in its source." : "It names no source.";
  if (claim.verdict === "partial") return reason ? `Not settled: ${reason}.` : "Not settled.";
  return "";
}

/** All reasons of the check, for the evidence of one sentence. */
export function reasonsOf(claim: Claim): string[] {
  return claim.reasons.map((reason) => `${capital(spelled(reason)).replace(/[.!?]$/, "")}.`);
}

/** A reason of the checks as a person reads it. One with two values shows both: “30 metres”; the source says “about 20”. */
function spelled(reason: string): string {
  const two = /^the claim says '(.+)', the source '(.+?)'(?:: another unit)?$/s.exec(reason);
  return two ? `“${two[1]}”; the source says “${two[2]}”` : quoted(reason);
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
