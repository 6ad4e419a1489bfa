import { afterEach, expect, test, vi } from "vitest";
import { money } from "./api";
import { wallet } from "./wallet.svelte";

afterEach(() => vi.unstubAllGlobals());

const session = (balance: number) => ({ funding_id: "f", state: "active", balance_sats: balance, reserved_sats: 0 });
const reply = (body: unknown) =>
  new Response(JSON.stringify(body), { headers: { "Content-Type": "application/json" } });

test("what was asked before and comes later does not take the place of what is newer", async () => {
  const lists: ((response: Response) => void)[] = [];
  vi.stubGlobal("fetch", (place: string) => {
    if (place.startsWith("/api/wallet/pricing"))
      return Promise.resolve(reply({ charged: true, price: null, graphs: [], mints: [], deposit_sats: null }));
    if (place.startsWith("/api/wallet/balance")) return Promise.resolve(reply(session(7)));
    return new Promise<Response>((resolve) => lists.push(resolve));
  });
  const loading = wallet.load(() => undefined);
  await vi.waitFor(() => expect(lists).toHaveLength(1));
  await wallet.look("f"); // a call was paid for meanwhile
  expect(wallet.sessions).toEqual([session(7)]);
  lists[0]!(reply([session(10)])); // how it stood before
  await vi.waitFor(() => expect(lists).toHaveLength(2));
  expect(wallet.sessions).toEqual([session(7)]);
  lists[1]!(reply([session(7)]));
  await loading;
  expect(wallet.sessions).toEqual([session(7)]);
});

test("a token whose answer was lost is handed in again with the same key, and another one with another", async () => {
  const keys: (string | null)[] = [];
  vi.stubGlobal("fetch", (_: string, init?: RequestInit) => {
    keys.push(new Headers(init?.headers).get("Idempotency-Key"));
    return keys.length === 1
      ? Promise.reject(new TypeError("the network is gone"))
      : Promise.resolve(reply({ funding_id: "f", net_sats: 7, state: "authorized" }));
  });
  await expect(money.fund({ token: "cashuBone" })).rejects.toThrow("does not answer");
  await money.fund({ token: "cashuBone" });
  await money.fund({ token: "cashuBone", ceiling_sats: 5 });
  await money.fund({ token: "cashuBtwo" });
  const [lost, again, ...others] = keys;
  expect(lost).toMatch(/^[0-9a-f]{64}$/);
  expect(again).toBe(lost);
  expect(new Set([lost, ...others]).size).toBe(3);
});
