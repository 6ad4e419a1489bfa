/**
 * Lines that match a pattern, in the files of a project.
 *
 * Patterns are written for RE2, which the server has; here they are the browser's own, which can be made to run for ever. So this runs in
 * a worker that is ended after two seconds.
 */

import { FileError } from "./errors";
import type { ProjectFiles } from "./files";
import { compileGlob } from "./paths";
import type { Content } from "./calls";

const MAX_MATCHES = 200;
const MAX_LINE_CHARS = 2_000;
const MAX_PATTERN_CHARS = 1_000;
const POSIX: Record<string, string> = {
  alpha: "\\p{L}",
  digit: "\\d",
  alnum: "\\p{L}\\d",
  space: "\\s",
  upper: "\\p{Lu}",
  lower: "\\p{Ll}",
  punct: "\\p{P}\\p{S}",
  word: "\\w",
};

export async function grep(files: ProjectFiles, args: Readonly<Record<string, unknown>>): Promise<Content> {
  const regex = compilePattern(args["pattern"], args["case_sensitive"] === true);
  const glob = args["glob_pattern"];
  const passes = glob == null ? () => true : compileGlob(glob, true);
  const matches: Content[] = [];
  const rows = (await files.list()).filter((row) => passes(row.path));
  for await (const { row, text } of files.texts(rows)) {
    if (!matchLines(row.path, text, regex, matches)) return { matches, truncated: true };
  }
  return { matches, truncated: false };
}

/** False as soon as there are more than are sent. */
function matchLines(path: string, text: string, regex: RegExp, matches: Content[]): boolean {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  for (const [at, line] of lines.entries()) {
    const hit = regex.exec(line);
    if (!hit) continue;
    if (matches.length === MAX_MATCHES) return false;
    const start = characters(line.slice(0, hit.index));
    matches.push({
      path,
      line_number: at + 1,
      line_content: line.slice(0, MAX_LINE_CHARS),
      match_start: start,
      match_end: start + characters(hit[0]),
    });
  }
  return true;
}

export function compilePattern(raw: unknown, caseSensitive: boolean): RegExp {
  if (typeof raw !== "string" || !raw)
    throw refuse("the grep pattern is empty. Pass the text or RE2 expression to look for.");
  if (raw.length > MAX_PATTERN_CHARS) {
    throw refuse(
      `the grep pattern has ${raw.length.toLocaleString("en")} characters; at most ${MAX_PATTERN_CHARS.toLocaleString("en")} are allowed. Search for a shorter part.`,
    );
  }
  if (raw.includes("\n"))
    throw refuse("the grep pattern holds a newline, and lines are searched one by one. Search for a part of one line.");
  const { source, flags } = translate(raw);
  const all = [...new Set([...flags, ...(caseSensitive ? "" : "i"), "u"])].join("");
  try {
    return new RegExp(source, all);
  } catch {
    return withoutUnicode(raw, source, all);
  }
}

/** The stricter Unicode mode refuses some harmless escapes (`\-`, a lone `]`). */
function withoutUnicode(raw: string, source: string, flags: string): RegExp {
  try {
    return new RegExp(source, flags.replace("u", ""));
  } catch {
    throw refuse(
      `${JSON.stringify(raw.slice(0, 100))} is not an expression that this browser understands. Escape special characters with a backslash.`,
    );
  }
}

/** What RE2 writes otherwise than a browser. */
function translate(pattern: string): { source: string; flags: string } {
  const leading = /^\(\?([ims]+)\)/.exec(pattern);
  const source = pattern
    .slice(leading?.[0].length ?? 0)
    .replace(/\(\?P</g, "(?<")
    .replace(/\\A/g, "^")
    .replace(/\\[zZ]/g, "$")
    .replace(/\[:(\^?)([a-z]+):\]/g, (whole, not: string, name: string) => (!not && POSIX[name]) || whole);
  return { source, flags: leading?.[1] ?? "" };
}

/** As the server counts them: a character outside the first plane is one. */
function characters(text: string): number {
  return /[\ud800-\udbff]/.test(text) ? [...text].length : text.length;
}

function refuse(message: string): FileError {
  return new FileError("failed", `Error: ${message}`);
}
