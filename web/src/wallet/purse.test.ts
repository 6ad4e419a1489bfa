import "fake-indexeddb/auto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openDevice } from "../device/database";
import { server } from "../state/server.svelte";
import { purse } from "./purse.svelte";

const MINT = "https://mint.example";
// The private key of this mint is 1, for every amount: its public key is the curve's generator, and what it signs stays as it is.
const GENERATOR = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
const KEYSET = "00933d7b6b029612"; // follows from the keys
const keyset = {
  id: KEYSET,
  unit: "sat",
  active: true,
  input_fee_ppk: 0,
  keys: { 1: GENERATOR, 2: GENERATOR, 4: GENERATOR, 8: GENERATOR },
};

/** What happens while this address is asked. */
let meanwhile: Record<string, () => void>;

function reply(address: string, body: any): object {
  const quote = { quote: "q", request: "lnbc80n1pvjluez", amount: 8, unit: "sat", expiry: null, state: "PAID" };
  const { pathname } = new URL(address, MINT);
  meanwhile[pathname]?.();
  if (pathname === "/v1/info")
    return { name: "mint", nuts: { 4: { methods: [{ method: "bolt11", unit: "sat" }], disabled: false } } };
  if (pathname.startsWith("/v1/keys")) return { keysets: [keyset] };
  if (pathname.startsWith("/v1/mint/quote/bolt11")) return quote;
  if (pathname === "/v1/mint/bolt11")
    return { signatures: body.outputs.map((output: any) => ({ id: KEYSET, amount: output.amount, C_: output.B_ })) };
  return { funding_id: "f", net_sats: 8 };
}

beforeEach(() => {
  meanwhile = {};
  vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => undefined, removeItem: () => undefined });
  vi.stubGlobal("navigator", {
    locks: { request: async (_name: string, _options: object, work: (lock: object) => unknown) => work({}) },
  });
  vi.stubGlobal(
    "fetch",
    async (address: string, init?: RequestInit) =>
      new Response(JSON.stringify(reply(String(address), JSON.parse(String(init?.body ?? "{}"))))),
  );
  signIn("ann");
});
afterEach(async () => {
  for (const name of ["stepwell", "stepwell:ann"])
    await (await openDevice(name)).write("purse", (stores) => stores.purse.clear());
  vi.unstubAllGlobals();
});

const signIn = (user: string | null) =>
  (server.me = { asks_who: true, signed_in: user !== null, user } as typeof server.me);
const kept = async (name: string) => (await openDevice(name)).read("purse", (stores) => stores.purse.all());
const order = () => purse.order(MINT, 8, { fundingId: null, ceilingSats: null });

test("money whose sign-in ends while the mint is asked stays with the one who paid", async () => {
  const { id } = await order();
  meanwhile["/v1/mint/bolt11"] = () => signIn(null);
  expect(await purse.advance(id)).toBeNull();
  expect(purse.troubles).toEqual({});
  expect(await kept("stepwell:ann")).toMatchObject([{ id, token: expect.stringMatching(/^cashuB/) }]);
  expect(await kept("stepwell")).toEqual([]);
  signIn("ann");
  expect(await purse.advance(id)).toBe("f");
  expect(await kept("stepwell:ann")).toEqual([]);
});

test("an invoice is kept where it was ordered, and money that is handed in goes from there", async () => {
  meanwhile["/v1/mint/quote/bolt11"] = () => signIn(null);
  const { id } = await order();
  expect(await kept("stepwell:ann")).toMatchObject([{ id, token: null }]);
  signIn("ann");
  meanwhile["/api/wallet/fund"] = () => signIn(null);
  expect(await purse.advance(id)).toBe("f");
  expect([...(await kept("stepwell:ann")), ...(await kept("stepwell"))]).toEqual([]);
});
