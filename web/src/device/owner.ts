/** Whose things are kept here. Two accounts in one browser do not see each other's. */

import { keep, kept } from "../lib/kept";
import { me as lookUp } from "../state/me.svelte";
import { server } from "../state/server.svelte";

const KEPT_UNDER = "device-of";

/** `stepwell` where nobody signs in, else `stepwell:<owner>`. Without the server it is the one of the last visit. */
export async function databaseName(): Promise<string> {
  if (!server.me && !lookUp.value) await lookUp.load();
  const me = server.me ?? lookUp.value;
  if (!me) return nameFor(kept(KEPT_UNDER));
  const owner = me.asks_who && me.signed_in ? (me.user ?? null) : null;
  keep(KEPT_UNDER, owner);
  return nameFor(owner);
}

function nameFor(owner: string | null): string {
  return owner ? `stepwell:${owner}` : "stepwell";
}
