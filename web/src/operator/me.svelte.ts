/** Who the person is to this server, and signing in and out. A key goes to the server once and is kept nowhere in the page. */

import { ApiError, request } from "../api";
import { forgetPerson } from "../lib/kept";
import { Loaded } from "../panels/loaded.svelte";
import { server } from "../state/server.svelte";

export interface Me {
  signed_in: boolean;
  /** The server needs a login. */
  asks_who: boolean;
  user: string | null;
  is_operator: boolean;
  via: "local" | "api_key" | "jwt" | "session" | null;
  sign_in: ("key" | "provider")[];
  server: { version: string; demo: boolean };
}

/** What an older server, which has no such route, amounts to. */
const OLDER: Me = {
  signed_in: true,
  asks_who: false,
  user: null,
  is_operator: false,
  via: null,
  sign_in: [],
  server: { version: "", demo: false },
};

export const me = new Loaded<Me>(async () => {
  try {
    return await request<Me>("/api/me");
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return OLDER;
    throw error;
  }
});

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
