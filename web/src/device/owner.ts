/** Whose things are kept here. Two accounts in one browser do not see each other's. */

import { keep, kept } from "../lib/kept";
import { me } from "../operator/me.svelte";

const KEPT_UNDER = "device-of";

/** `stepwell` where nobody signs in, else `stepwell:<owner>`. Without the server it is the one of the last visit. */
export async function databaseName(): Promise<string> {
  if (!me.value) await me.load();
  if (!me.value) return nameFor(kept(KEPT_UNDER));
  const owner = me.value.asks_who && me.value.signed_in ? me.value.user : null;
  keep(KEPT_UNDER, owner);
  return nameFor(owner);
}

function nameFor(owner: string | null): string {
  return owner ? `stepwell:${owner}` : "stepwell";
}
