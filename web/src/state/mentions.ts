/**
 * `@file` in a message: where such a name begins, which files fit it, and how one is written so that the server reads it.
 *
 * Parts of the page that know files offer them (`offerMentions`): the conversation's own, the workspace's, the project's.
 */

import { nameOf } from "../lib/paths";

export interface Mention {
  readonly path: string;
  /** Where it is: "This conversation", "Workspace". */
  readonly from: string;
}

export interface MentionContext {
  readonly graphId: string;
  /** Null: before the first message. */
  readonly threadId: string | null;
  /** The conversation's own files. */
  readonly files: readonly string[];
  /** The workspace that it is about; empty: the server knows. */
  readonly root: string;
}

/** All files it knows that could be meant, or those that fit the query. */
export type MentionProvider = (context: MentionContext, query: string) => Promise<readonly Mention[]>;

const providers = new Set<MentionProvider>();
const MOST = 8;

/** From now on. Gives the way back. */
export function offerMentions(provider: MentionProvider): () => void {
  providers.add(provider);
  return () => void providers.delete(provider);
}

offerMentions(async (context) => context.files.map((path) => ({ path, from: "This conversation" })));

export interface Begun {
  /** Where the "@" stands. */
  readonly start: number;
  readonly query: string;
}

/** The mention that is being written where the caret stands; null: none. An e-mail address begins none. */
export function mentionAt(text: string, caret: number): Begun | null {
  const line = text.slice(Math.max(0, caret - 300), caret);
  const found = /(?:^|[\s(“"'])@("[^"\n]*|[^\s"@]*)$/u.exec(line);
  if (!found) return null;
  const typed = found[1]!;
  return { start: caret - typed.length - 1, query: typed.replace(/^"/, "") };
}

/** What fits, best first: names that begin with the query, then those that have it anywhere. One that failed to answer is left out. */
export async function findMentions(context: MentionContext, query: string): Promise<Mention[]> {
  const answers = await Promise.allSettled([...providers].map((provider) => provider(context, query)));
  const all = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  return rank(all, query);
}

export function rank(all: readonly Mention[], query: string): Mention[] {
  const wanted = query.toLowerCase();
  const place = ({ path }: Mention) => {
    const [whole, name] = [path.toLowerCase(), nameOf(path).toLowerCase()];
    if (name.startsWith(wanted) || whole.startsWith(wanted)) return 0;
    return name.includes(wanted) ? 1 : whole.includes(wanted) ? 2 : -1;
  };
  const seen = new Set<string>();
  return all
    .filter((each) => !seen.has(each.path) && seen.add(each.path))
    .map((each) => ({ each, place: place(each) }))
    .filter((found) => found.place >= 0)
    .sort((one, two) => one.place - two.place || one.each.path.localeCompare(two.each.path))
    .slice(0, MOST)
    .map((found) => found.each);
}

/** The message with the file in place of what was typed, and where the caret goes. Names with a space stand in quotation marks. */
export function insertMention(
  text: string,
  begun: Begun,
  caret: number,
  path: string,
): { text: string; caret: number } {
  const isPlain = /^[\w/][\w./-]*$/.test(path) && /[./]/.test(path) && !/[./-]$/.test(path);
  const words = `@${isPlain ? path : `"${path}"`}`;
  const after = text.slice(caret).replace(/^"/, "");
  const space = /^\s/.test(after) ? "" : " ";
  return { text: `${text.slice(0, begun.start)}${words}${space}${after}`, caret: begun.start + words.length + 1 };
}
