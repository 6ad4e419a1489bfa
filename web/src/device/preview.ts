/** What the changes of a question would make of the files as they are now, for the person who decides. */

import { plural } from "../lib/words";
import type { Call } from "./calls";
import { CHANGING, plan } from "./operations";
import type { ProjectFiles } from "./files";
import { keyOf } from "./paths";
import type { Relocation } from "./relocations";

export interface Preview {
  readonly call_id: string;
  readonly path: string;
  readonly before: string;
  readonly after: string;
  readonly isNew: boolean;
  readonly description: string;
  /** Why it does not fit; nothing would change. */
  readonly problem: string | null;
  /** Only the lines around the change are shown: the whole is too long. */
  readonly cut: boolean;
  /** Not even the change itself can be shown. */
  readonly tooLong: boolean;
}

const MAX_SHOWN_CHARS = 1_000_000;
const CONTEXT_LINES = 3;

export async function preview(files: ProjectFiles, calls: readonly Call[]): Promise<Preview[]> {
  const shown: Preview[] = [];
  for (const call of calls.filter((each) => CHANGING.has(each.name))) shown.push(await previewOne(files, call));
  return shown;
}

async function previewOne(files: ProjectFiles, call: Call): Promise<Preview> {
  const named = String(call.args["file_id"] || call.args["path"] || call.args["title"] || "");
  const empty = {
    call_id: call.id,
    path: named,
    before: "",
    after: "",
    isNew: false,
    description: String(call.args["description"] ?? ""),
    cut: false,
    tooLong: false,
  };
  try {
    const change = await plan(files, call);
    if ("files" in change) return { ...empty, ...(await shownOf(files, change)), path: change.path, problem: null };
    const before = change.old ? ((await files.read(change.path)).text ?? "") : "";
    const after = change.content.text ?? (await change.content.blob!.text());
    return { ...empty, ...cutDown(before, after), path: change.path, isNew: !change.old, problem: null };
  } catch (error) {
    return { ...empty, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** What is lost, if that is one text; else the paths. */
async function shownOf(files: ProjectFiles, change: Relocation): Promise<Partial<Preview>> {
  const { path, destination, replaced } = change;
  const [first] = change.files;
  const description =
    destination === null
      ? `Deletes ${plural(change.files.length, "file")}; you find what was deleted in the project’s files.`
      : `Moves ${plural(change.files.length, "file")} to ${destination}${replaced ? ", in place of the file there" : ""}.`;
  const one = change.files.length === 1 && first!.row.path_key === keyOf(path);
  const textAt = async (at: string) => (await files.read(at)).text ?? "";
  if (one && destination === null) return { description, ...cutDown(await textAt(path), "") };
  if (replaced) return { description, ...cutDown(await textAt(replaced.path), await textAt(path)) };
  const lines = (paths: (string | null)[]) => paths.filter((each) => each !== null).join("\n");
  return {
    description,
    ...cutDown(lines(change.files.map(({ row }) => row.path)), lines(change.files.map(({ to }) => to))),
  };
}

function cutDown(before: string, after: string): Pick<Preview, "before" | "after" | "cut" | "tooLong"> {
  if (before.length + after.length <= MAX_SHOWN_CHARS) return { before, after, cut: false, tooLong: false };
  const [one, two] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < Math.min(one.length, two.length) && one[start] === two[start]) start++;
  let end = 0;
  while (end < Math.min(one.length, two.length) - start && one[one.length - 1 - end] === two[two.length - 1 - end])
    end++;
  const part = (lines: string[]) =>
    lines.slice(Math.max(0, start - CONTEXT_LINES), lines.length - Math.max(0, end - CONTEXT_LINES)).join("\n");
  const shown = { before: part(one), after: part(two), cut: true, tooLong: false };
  return shown.before.length + shown.after.length <= MAX_SHOWN_CHARS
    ? shown
    : { before: "", after: "", cut: true, tooLong: true };
}
