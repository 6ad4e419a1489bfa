/** What an agent asks of this device, and what came of it, in a person's words. */

import { textOf } from "../lib/json";
import { plural } from "../lib/words";
import { isNote } from "./notes";
import type { Call, Result } from "./calls";

const shorten = (words: string): string => (words.length > 80 ? `${words.slice(0, 79)}…` : words);

/** The file or the words that a call is about. */
export function aboutOf(call: Call): string {
  const { path, file_id, title, pattern, query } = call.args;
  return [file_id, path, title, pattern, query].map(textOf).find(Boolean) ?? "";
}

/** "Read /a.md", before it happens. */
export function sayCall(call: Call): string {
  const about = shorten(aboutOf(call));
  switch (call.name) {
    case "list_files":
      return call.args["path"] ? `List ${about}` : "List the files";
    case "glob_files":
      return `List the files like ${about}`;
    case "read_file":
      return `Read ${about}`;
    case "grep_files":
      return `Look for “${about}”`;
    case "search_files":
      return `Search for “${about}”`;
    case "write_file":
      return `Write ${about}`;
    case "patch_file":
      return `Change ${about}`;
    case "delete_file":
      return `Delete ${about}`;
    case "move_file":
      return `Move ${about} to ${shorten(textOf(call.args["path"]))}`;
    default:
      return `Do ${call.name}`;
  }
}

/** One sentence: what was done, and what was not. Nothing about an agent's own notes, which it reads and keeps by itself: they would be told in every turn. */
export function describe(calls: readonly Call[], results: readonly Result[]): string {
  if (calls.every((call) => isNote(call)) && results.every((result) => wentWell(result))) return "";
  return calls.map((call, at) => sayResult(call, results[at]!)).join(" ");
}

function wentWell(result: Result): boolean {
  return "content" in result || result.error.code === "not_found";
}

function sayResult(call: Call, result: Result): string {
  const about = shorten(aboutOf(call));
  if ("error" in result) return sayError(call, about, result.error);
  const content = result.content;
  const count = (name: string) => (Array.isArray(content[name]) ? (content[name] as unknown[]).length : 0);
  switch (call.name) {
    case "list_files":
    case "glob_files":
      return `The agent saw ${plural(count("files"), "file name")}.`;
    case "read_file":
      return `The agent read ${about}.`;
    case "grep_files":
      return `The agent found ${plural(count("matches"), "line")} with “${about}”.`;
    case "search_files":
      return `The agent searched for “${about}” by ${content["by"] === "meaning" ? "meaning" : "words"} and got ${plural(count("hits"), "passage")}.`;
    case "write_file":
      return `${about} was written.`;
    case "delete_file":
      return `${about} was deleted.`;
    case "move_file":
      return `${about} was moved to ${shorten(textOf(call.args["path"]))}.`;
    default:
      return `${about} was changed.`;
  }
}

function sayError(call: Call, about: string, error: { code: string; message: string }): string {
  const why = error.message.replace(/^Error: /, "").replace(/\.$/, "");
  if (error.code === "rejected") return `You did not allow it: ${sayCall(call)}.`;
  if (/^(write|patch|delete|move)_/.test(call.name)) return `${about} was not changed: ${why}.`;
  return `${sayCall(call)}: ${error.code === "not_found" ? "there is no such file" : why}.`;
}
