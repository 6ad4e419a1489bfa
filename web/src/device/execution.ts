/**
 * Carrying out what an interrupt asks of this device, once.
 *
 *   reads first (they change nothing) ─> changes planned ─> ONE transaction: files, versions, outbox row, departures ─> the answer
 *
 * The outbox row is the proof that it was done: whoever comes later, a reload or another tab, finds it and sends it instead of doing it
 * again. Several changes of one interrupt are made together or not at all.
 */

import { QuotaError, type OutboxRow } from "./database";
import { describeSent, type SentText } from "./sent-log";
import { FileError } from "./errors";
import type { Change, ProjectFiles } from "./files";
import type { Call, Content, Result } from "./calls";
import { CHANGING, contentOf, failure, fitted, plan } from "./operations";
import { keyOf } from "./paths";
import { relocateIn, type Relocation } from "./relocations";
import { describe } from "./wording";

export interface Commission {
  readonly interrupt_id: string;
  readonly thread_id: string;
  readonly assistant_id: string;
  /** Who asks, by name. */
  readonly to: string;
  readonly claim_id: string | null;
  readonly calls: readonly Call[];
  /** Results of the calls that only read, in any order. */
  readonly reads: readonly Result[];
  /** The person did not allow it, and why: nothing changes, and what was not read already is refused. */
  readonly refusal?: string;
}

const STORES = ["files", "contents", "versions", "outbox", "departures", "settings"] as const;
const MAX_TRIES = 3;

/** What identifies a question beside its interrupt's id. */
export function questionOf(calls: readonly Call[]): string {
  return JSON.stringify(calls);
}

/** Where a claim is remembered until the deed is done. */
export function claimKey(interruptId: string): string {
  return `claim:${interruptId}`;
}

export async function carryOut(files: ProjectFiles, commission: Commission): Promise<OutboxRow> {
  if (commission.refusal !== undefined) return keep(files, commission, [], refuseAll(commission));
  for (let tries = 1; ; tries++) {
    const planned = await planAll(files, commission.calls);
    const results = fitted(resultsOf(commission, planned), commission.calls);
    try {
      return await keep(files, commission, [...planned.values()].filter(isChange), results);
    } catch (error) {
      if (error instanceof QuotaError) return keep(files, commission, [], failAll(commission, error));
      // Somebody changed a file between plan and deed: the new plan says what does not fit any more.
      if (!(error instanceof FileError) || tries === MAX_TRIES) throw error;
    }
  }
}

type Deed = Change | Relocation;
type Planned = Map<string, Deed | FileError>;

async function planAll(files: ProjectFiles, calls: readonly Call[]): Promise<Planned> {
  const planned: Planned = new Map();
  const touched = new Set<string>();
  for (const call of calls.filter((each) => CHANGING.has(each.name))) {
    const change = await plan(files, call).catch(asFileError);
    const twice = isChange(change) && keysOf(change).some((key) => touched.has(key));
    planned.set(
      call.id,
      twice ? new FileError("conflict", "another change of the same step is about this file") : change,
    );
    if (isChange(change)) keysOf(change).forEach((key) => touched.add(key));
  }
  const failed = [...planned.values()].some((each) => !isChange(each));
  if (!failed) return planned;
  const beside = new FileError("failed", "Another change of the same step does not fit.");
  return new Map([...planned].map(([id, each]) => [id, isChange(each) ? beside : each]));
}

function resultsOf(commission: Commission, planned: Planned): Result[] {
  return commission.calls.map((call) => {
    const change = planned.get(call.id);
    if (!change) {
      const read = commission.reads.find((each) => each.tool_call_id === call.id);
      return read ?? failure(call, new FileError("failed", `This device does not know the operation '${call.name}'.`));
    }
    return isChange(change) ? { tool_call_id: call.id, content: contentOf(change) } : failure(call, change);
  });
}

function refuseAll(commission: Commission): Result[] {
  const read = new Map(commission.reads.map((result) => [result.tool_call_id, result]));
  return commission.calls.map(
    (call) => read.get(call.id) ?? failure(call, new FileError("rejected", commission.refusal ?? "")),
  );
}

function failAll(commission: Commission, error: Error): Result[] {
  return commission.calls.map((call) => failure(call, new FileError("failed", error.message)));
}

/** The deed and its proof in one transaction. If the proof is there already, nothing is done. */
async function keep(
  files: ProjectFiles,
  commission: Commission,
  changes: readonly Deed[],
  results: readonly Result[],
): Promise<OutboxRow> {
  const row = rowFor(commission, results);
  const leaving = sentIn(commission, results);
  return files.device.write(STORES, async (stores) => {
    const done = await stores.outbox.get(commission.interrupt_id);
    if (done && done.question === row.question && !done.delivered_at) return done;
    for (const change of changes) {
      if ("files" in change) await relocateIn(files, stores, change, row.at);
      else await files.makeIn(stores, [change], row.at);
    }
    await stores.outbox.put(row);
    for (const each of leaving) await stores.departures.add(describeSent(each, new Date(row.at)));
    await stores.settings.delete(claimKey(commission.interrupt_id));
    return row;
  });
}

function rowFor(commission: Commission, results: readonly Result[]): OutboxRow {
  const { interrupt_id, thread_id, assistant_id, claim_id, calls } = commission;
  return {
    interrupt_id,
    thread_id,
    assistant_id,
    claim_id,
    answer: { tool_results: results },
    question: questionOf(calls),
    at: new Date().toISOString(),
    words: describe(calls, results),
  };
}

/** Everything of an answer that is content of the person's files. What a change leaves in it is only a name and a hash. */
function sentIn(commission: Commission, results: readonly Result[]): SentText[] {
  return commission.calls.flatMap((call, at) => {
    const result = results[at]!;
    if (!("content" in result) || CHANGING.has(call.name)) return [];
    const { thread_id, to } = commission;
    return [{ thread_id, to, ...leavingOf(call, result.content) }];
  });
}

function leavingOf(call: Call, content: Content): Pick<SentText, "kind" | "label" | "text"> {
  const rows = (name: string) => (Array.isArray(content[name]) ? (content[name] as Record<string, unknown>[]) : []);
  switch (call.name) {
    case "read_file":
      return { kind: "file", label: String(content["file_id"]), text: String(content["text"]) };
    case "grep_files":
      return {
        kind: "snippet",
        label: `Lines with ${String(call.args["pattern"])}`,
        text: rows("matches")
          .map((row) => `${row["path"]}: ${row["line_content"]}`)
          .join("\n"),
      };
    case "search_files":
      return {
        kind: "snippet",
        label: `Passages about ${String(call.args["query"])}`,
        text: rows("hits")
          .map((row) => `${row["path"]}: ${row["text"]}`)
          .join("\n"),
      };
    default:
      return {
        kind: "listing",
        label: "Names of files",
        text: rows("files")
          .map((row) => row["path"])
          .join("\n"),
      };
  }
}

/** The files that a change is about. */
function keysOf(change: Deed): string[] {
  if (!("files" in change)) return [keyOf(change.path)];
  return change.files.flatMap(({ row, to }) => [row.path_key, ...(to === null ? [] : [keyOf(to)])]);
}

function isChange(each: Deed | FileError): each is Deed {
  return !(each instanceof FileError);
}

function asFileError(error: unknown): FileError {
  if (error instanceof FileError) return error;
  return new FileError("failed", error instanceof Error ? error.message : String(error));
}
