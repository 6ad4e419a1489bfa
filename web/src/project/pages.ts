// A page of the web as a file of a project: its text, with where and when it was read.

import type { ProjectFiles } from "../device/files";
import { keyOf } from "../device/paths";
import { fetchPage, type PageText } from "../knowledge/fetching";
import { numberedPath } from "./names";

const FOLDER = "/articles";
const MAX_NAME_CHARS = 80;

/** Where a page goes, beside the files that are there: none is overwritten. */
export function pathOfPage(page: Pick<PageText, "title" | "final_url">, taken: readonly string[]): string {
  const words = (page.title || page.final_url.replace(/^https?:\/\//, ""))
    .normalize("NFC")
    .replace(/[^\p{L}\p{N} ._-]+/gu, " ")
    .replace(/[\s.]+/g, (found) => (found.includes(" ") ? " " : found))
    .trim()
    .slice(0, MAX_NAME_CHARS)
    .replace(/^[. ]+|[. ]+$/g, "");
  const path = `${FOLDER}/${words || "page"}.md`;
  const keys = new Set(taken.map(keyOf));
  for (let number = 1; ; number++) {
    const free = number === 1 ? path : numberedPath(path, number);
    if (!keys.has(keyOf(free))) return free;
  }
}

export function textOfPage(page: Pick<PageText, "title" | "final_url" | "fetched_at" | "text">): string {
  return `# ${page.title || page.final_url}\n\nSource: ${page.final_url}\nRead: ${page.fetched_at.slice(0, 10)}\n\n${page.text.trim()}\n`;
}

export async function savePage(files: ProjectFiles, url: string) {
  const page = await fetchPage(url, url);
  const taken = (await files.list()).map((file) => file.path);
  return files.write(pathOfPage(page, taken), textOfPage(page), { by: "you", reason: "Saved from the web" });
}
