// The workspace's files for `@file` in a message. The first page of names is asked for once in a while, not with every letter.

import { offerMentions } from "../state/mentions";
import { listPage } from "./files";
import { WORKSPACE } from "./root.svelte";

const FRESH_MS = 15_000;
let known: { root: string; at: number; paths: Promise<string[]> } | null = null;

function pathsOf(root: string): Promise<string[]> {
  if (known?.root === root && Date.now() - known.at < FRESH_MS) return known.paths;
  const paths = listPage(root, null).then((page) => page.files.map((file) => file.path));
  known = { root, at: Date.now(), paths };
  return paths;
}

offerMentions(async ({ graphId, root }) =>
  graphId === WORKSPACE ? (await pathsOf(root)).map((path) => ({ path, from: "Workspace" })) : [],
);
