/** Who the person is to this server, and signing in and out. A key goes to the server once and is kept nowhere in the page. */

import { api, request, type Me } from "../api";
import { forgetPerson } from "../lib/kept";
import { Loaded } from "../lib/loaded.svelte";
import { server } from "./server.svelte";

export const me = new Loaded<Me>(api.me);

export async function signIn(key: string): Promise<void> {
  await request<Me>("/login", { method: "POST", body: new URLSearchParams({ key }) });
  await me.load();
}

/** The page is loaded again: what it holds in memory, and what the person began to write, is for nobody who comes next. */
export async function signOut(): Promise<void> {
  await request<void>("/logout", { method: "POST" });
  forgetPerson(server.owner);
  location.assign("/");
}
