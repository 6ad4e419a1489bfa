/** Where an approval learns whether the file it is about is still the one its diff was made for. A conversation whose files the page can
 * look at provides it; elsewhere nobody knows, and nothing is said. */

import { getContext, setContext } from "svelte";

export interface Versions {
  /** Tells the version of a file now and whenever that changes; null: there is none. Gives back how to stop. */
  watch(path: string, tell: (version: string | null) => void): () => void;
}

const KEY = Symbol("versions of files");

export function provideVersions(versions: Versions): void {
  setContext(KEY, versions);
}

export function currentVersions(): Versions | undefined {
  return getContext<Versions | undefined>(KEY);
}
