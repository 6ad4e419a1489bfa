import { afterEach, expect, test, vi } from "vitest";
import { wallet } from "./wallet.svelte";

afterEach(() => vi.unstubAllGlobals());

const session = (balance: number) => ({ funding_id: "f", state: "active", balance_sats: balance, reserved_sats: 0 });
const reply = (body: unknown) => new Response(JSON.stringify(body), { headers: { "Content-Type": "application/json" } });

test("what was asked before and comes later does not take the place of what is newer", async () => {
  const lists: ((response: Response) => void)[] = [];
  vi.stubGlobal("fetch", (place: string) => {
    if (place.startsWith("/api/wallet/pricing")) return Promise.resolve(reply({ charged: true, price: null, graphs: [], mints: [], deposit_sats: null }));
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
