/**
 * Paths and patterns of a project's files, by the rules that the server has for its own: `/` is the project's root.
 *
 * What is refused: `..` in any disguise, control, bidirectional and invisible characters, drive letters, `\\host\share`, `~`, `scheme://`,
 * names above 255 bytes and paths above 1,024. A backslash separates folders as a slash does. Two names that
 * differ only in case or in normal form have one key, and are one file.
 */

import { FileError } from "./errors";

const MAX_SEGMENT_BYTES = 255;
const MAX_PATH_BYTES = 1024;
const MAX_PATTERN_CHARS = 1000;

// Control characters, bidirectional marks, invisible spaces and tags, no characters, lone surrogates.
const HIDDEN =
  /[\u{0}-\u{1f}\u{7f}-\u{9f}\u{61c}\u{200e}\u{200f}\u{202a}-\u{202e}\u{2066}-\u{2069}\u{ad}\u{200b}\u{2028}\u{2029}\u{2060}-\u{2064}\u{feff}\u{e0000}-\u{e007f}\u{fffe}\u{ffff}\u{d800}-\u{dfff}]/u;
const ALL_HIDDEN = new RegExp(HIDDEN.source, "gu");
const SCHEME = /^\/*[A-Za-z][A-Za-z0-9+.-]*:\/\//;
const DRIVE = /^[A-Za-z]:/;

/** The normal form of a path (`/a/b`), or a `FileError` that says what is wrong with it. */
export function resolvePath(raw: unknown): string {
  if (typeof raw !== "string") throw refuse(`a path must be text, not ${typeof raw}. Pass a path such as '/notes.md'.`);
  const slashed = raw.startsWith("\\\\") ? raw : raw.replaceAll("\\", "/");
  const problem = complaintAbout(slashed);
  if (problem) throw refuse(`${show(slashed)} ${problem}`);
  return `/${partsOf(slashed).join("/")}`;
}

/** The same for verbs that need a file: the root is refused. */
export function resolveFile(raw: unknown): string {
  const path = resolvePath(raw);
  if (path === "/")
    throw refuse(`${show(String(raw))} names the root folder, not a file. Give the file a name, such as '/notes.md'.`);
  return path;
}

/** The same for verbs that delete or move a file or a folder: the root is refused. */
export function resolveEntry(raw: unknown): string {
  const path = resolvePath(raw);
  if (path === "/")
    throw refuse(`${show(String(raw))} names the root folder, which cannot be deleted or moved. Name something in it.`);
  return path;
}

/** What a path is found by. Upper case first: `ß` and `ss` are one name to people who write in capitals. */
export function keyOf(path: string): string {
  return path.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");
}

/** The folders above a path, nearest first, without the root. */
export function parentsOf(path: string): string[] {
  const parts = path.split("/").slice(1, -1);
  return parts.map((_, at) => `/${parts.slice(0, at + 1).join("/")}`).reverse();
}

/** A path quoted for a message: hidden characters escaped, long ones cut. */
export function show(text: string): string {
  const cut = text.length > 120 ? `${text.slice(0, 80)}…${text.slice(-30)}` : text;
  return `'${cut.replace(ALL_HIDDEN, (hit) => `\\u${hit.codePointAt(0)!.toString(16).padStart(4, "0")}`)}'`;
}

const TYPES: Record<string, readonly string[]> = {
  note: ["md", "txt", "rst"],
  article: ["html", "htm", "pdf"],
  code: ["py", "js", "ts", "svelte", "css", "json", "toml", "yaml", "yml", "sh", "sql", "c", "h", "rs", "go"],
};
const NAMED_TYPES = ["seminar", "draft", "article", "note"];

/** What sort of document a path means: by a word in its name or its folder, else by its suffix. */
export function typeOf(path: string): string {
  const words = new Set(path.toLowerCase().split(/[^a-z]+/));
  const named = NAMED_TYPES.find((kind) => words.has(kind) || words.has(`${kind}s`));
  const suffix = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  return named ?? Object.keys(TYPES).find((kind) => TYPES[kind]!.includes(suffix)) ?? "other";
}

/**
 * A test for paths. `**` crosses folders, `*` and `?` do not, `{a,b}` and `[abc]` choose. With `anywhere`, a pattern without a slash is
 * held against the last segment, as in `grep --include`.
 */
export function compileGlob(raw: unknown, anywhere = false): (path: string) => boolean {
  if (typeof raw !== "string")
    throw refuse(`a glob pattern must be text, not ${typeof raw}. Pass a pattern such as '**/*.md'.`);
  if (!raw.replace(/^[/. ]+|[/. ]+$/g, ""))
    throw refuse("the glob pattern is empty. Pass a pattern such as '**/*.md'.");
  const problem = complaintAbout(raw);
  if (problem) throw refuse(`${show(raw)} ${problem}`);
  const pattern = partsOf(raw).join("/");
  if (pattern.length > MAX_PATTERN_CHARS)
    throw refuse(`the glob pattern has ${pattern.length} characters; at most ${MAX_PATTERN_CHARS} are allowed.`);
  try {
    const start = anywhere && !pattern.includes("/") ? "(?:.*/)?" : "";
    const regex = new RegExp(`^(?:${start}${translateGlob(pattern)})$`, "su");
    return (path) => regex.test(path.slice(1));
  } catch {
    throw refuse(`${show(pattern)} is not a valid glob pattern. Use *, **, ?, [abc] and {a,b}.`);
  }
}

function translateGlob(pattern: string): string {
  let out = "";
  let depth = 0;
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]!;
    const closing = char === "[" ? pattern.indexOf("]", at + 2) : -1;
    if (pattern.startsWith("**/", at)) [out, at] = [`${out}(?:[^/]+/)*`, at + 2];
    else if (pattern.startsWith("**", at)) [out, at] = [`${out}.*`, at + 1];
    else if (closing > 0) [out, at] = [out + bracket(pattern.slice(at + 1, closing)), closing];
    else if (char === "{" && pattern.includes("}", at)) [out, depth] = [`${out}(?:`, depth + 1];
    else if (char === "}" && depth) [out, depth] = [`${out})`, depth - 1];
    else if (char === "," && depth) out += "|";
    else out += char === "*" ? "[^/]*" : char === "?" ? "[^/]" : char.replace(/[\\^$.|?*+()[\]{}/]/, "\\$&");
  }
  return out;
}

function bracket(inside: string): string {
  const negated = inside.startsWith("!") || inside.startsWith("^");
  const body = (negated ? inside.slice(1) : inside).replace(/[\\[\]^]/g, "\\$&");
  return negated ? `[^/${body}]` : `[${body}]`;
}

function refuse(message: string): FileError {
  return new FileError("failed", `Error: ${message}`);
}

function partsOf(raw: string): string[] {
  return raw.split("/").filter((part) => part !== "" && part !== ".");
}

/** The first thing wrong with the whole text, then with each name. */
function complaintAbout(raw: string): string | null {
  if (HIDDEN.test(raw)) return "holds a control or invisible character. Use visible characters only.";
  if (raw.includes("\\")) return "holds a backslash. Separate folders with '/', as in '/folder/file.md'.";
  if (SCHEME.test(raw) || raw.startsWith("~")) {
    return "is not a path of this file system. Use one that starts at its root, as in '/folder/file.md'.";
  }
  const parts = partsOf(raw);
  if (bytesIn(`/${parts.join("/")}`) > MAX_PATH_BYTES)
    return `is longer than ${MAX_PATH_BYTES} bytes. Choose a shorter path.`;
  for (const part of parts) {
    if (climbs(part))
      return "climbs out with '..'. Path traversal not allowed: use a path from the root, without '..'.";
    if (DRIVE.test(part)) return "names a drive. Use a path from the root, as in '/folder/file.md'.";
    if (bytesIn(part) > MAX_SEGMENT_BYTES)
      return `has a name longer than ${MAX_SEGMENT_BYTES} bytes. Choose a shorter name.`;
    if (!part.trim()) return "has a name made of spaces. Give every folder and file a visible name.";
  }
  return null;
}

/** Whether a name is `..`, or becomes one (or several names) once decoded as a careless reader would. */
function climbs(part: string): boolean {
  let decoded = part;
  for (let round = 0; round < 3; round++) {
    if (decoded.trim() === ".." || /[/\\]/.test(decoded) || HIDDEN.test(decoded)) return true;
    decoded = unquote(decoded).normalize("NFKC");
  }
  return decoded.trim() === ".." || /[/\\]/.test(decoded) || HIDDEN.test(decoded);
}

function unquote(text: string): string {
  return text.replace(/(?:%[0-9a-fA-F]{2})+/g, (run) => {
    const bytes = Uint8Array.from(run.slice(1).split("%"), (pair) => parseInt(pair, 16));
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      return "\ud800"; // No text at all: hidden, and so refused.
    }
  });
}

function bytesIn(text: string): number {
  return new TextEncoder().encode(text).length;
}
