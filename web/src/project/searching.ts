// Words in the texts of a project. Runs in a worker, for a short time: what it did not come to is said.

import type { Device, FileContent } from "../device/database";

export interface Hit {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  /** The line, cut around the words. */
  readonly text: string;
  /** Where the words stand in `text`. */
  readonly start: number;
  readonly end: number;
}

export interface Hits {
  readonly hits: readonly Hit[];
  /** More were found than are listed, or the time was up. */
  readonly more: boolean;
}

const MOST_HITS = 200;
const MOST_PER_FILE = 20;
const LIMIT_MS = 3_000;
const AROUND = 60;

export async function searchTexts(
  device: Device,
  projectId: string,
  words: string,
  signal: AbortSignal,
): Promise<Hits> {
  const wanted = words.trim().toLowerCase();
  if (!wanted) return { hits: [], more: false };
  const until = performance.now() + LIMIT_MS;
  const rows = await device.read("files", (stores) => stores.files.allBy("project", projectId));
  const paths = new Map(rows.filter((row) => !row.binary).map((row) => [row.id, row.path]));
  const hits: Hit[] = [];
  const long: FileContent[] = [];
  const isDone = () => signal.aborted || hits.length >= MOST_HITS || performance.now() > until;
  const visit = (content: FileContent) => {
    const path = paths.get(content.file_id);
    if (path === undefined) return true;
    if (content.text === undefined) long.push(content);
    else hits.push(...findIn(path, content.text, wanted));
    return !isDone();
  };
  await device.read("contents", (stores) => stores.contents.each(visit, "project", IDBKeyRange.only(projectId)));
  for (const content of long) {
    if (isDone()) break;
    hits.push(...findIn(paths.get(content.file_id)!, (await content.blob?.text()) ?? "", wanted));
  }
  return {
    hits: hits.slice(0, MOST_HITS).sort((one, two) => one.path.localeCompare(two.path) || one.line - two.line),
    more: isDone(),
  };
}

export function findIn(path: string, text: string, wanted: string): Hit[] {
  const found: Hit[] = [];
  const lower = text.toLowerCase();
  // A character whose small form is longer would shift every place after it; then lines are taken from the small form.
  const shown = lower.length === text.length ? text : lower;
  let [line, counted] = [1, 0];
  for (let at = lower.indexOf(wanted); at >= 0 && found.length < MOST_PER_FILE;) {
    for (let next = shown.indexOf("\n", counted); next >= 0 && next < at; next = shown.indexOf("\n", counted))
      [line, counted] = [line + 1, next + 1];
    const end = shown.indexOf("\n", at) < 0 ? shown.length : shown.indexOf("\n", at);
    const from = Math.max(counted, at - AROUND);
    const piece = shown.slice(from, Math.min(end, at + wanted.length + AROUND));
    found.push({ path, line, text: piece, start: at - from, end: at - from + wanted.length });
    at = lower.indexOf(wanted, Math.max(end, at + 1));
  }
  return found;
}
