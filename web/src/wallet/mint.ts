// A mint, asked from the browser with cashu-ts, which is fetched when it is first needed. Only mints that the server accepts can be asked: the
// page's policy allows no others.
//
//   ask for an invoice ─> the secrets are kept (purse) ─> it is paid ─> the mint signs ─> a token
//
// The secrets are made before the mint signs anything. So if its response is lost, the signatures can be had again (NUT-09).

import type { OutputData, Proof, SerializedOutputData, Wallet } from "@cashu/cashu-ts";
import { mintName } from "./words";

/** The mint does not answer, or refuses; the sentence says which, and what is safe. */
export class MintError extends Error {
  override name = "MintError";
}

export interface Invoice {
  quote: string;
  /** BOLT 11: what a Lightning wallet pays. */
  request: string;
  /** Seconds since 1970; null where the mint sets no end. */
  expires_at: number | null;
  keyset: string;
  /** Secrets: whoever has them and the paid quote has the money. */
  outputs: SerializedOutputData[];
}

export interface Ordered extends Invoice {
  mint: string;
  amount_sats: number;
}

const TIMEOUT_MS = 15_000;
/** Mints have these codes for "signed already", depending on their version; what was signed is fetched again. */
const SIGNED_ALREADY = [10002, 11003, 20002];
const KEYSET_GONE = [12001, 12002];

type Library = typeof import("@cashu/cashu-ts");
let library: Promise<Library> | null = null;
const wallets = new Map<string, Promise<Wallet>>();

async function load(): Promise<Library> {
  library ??= import("@cashu/cashu-ts").then((loaded) => {
    loaded.setGlobalRequestOptions({ requestTimeout: TIMEOUT_MS, credentials: "omit", referrerPolicy: "no-referrer" });
    return loaded;
  });
  try {
    return await library;
  } catch (error) {
    library = null;
    throw new MintError(
      "A part of the page that asks mints could not be loaded. Nothing is lost. Load the page again.",
      { cause: error },
    );
  }
}

/** With its keys, which are fetched once. */
async function open(mint: string): Promise<Wallet> {
  const { Wallet } = await load();
  let opening = wallets.get(mint);
  if (!opening) {
    const made = new Wallet(mint, { unit: "sat" });
    opening = made.loadMint().then(() => made);
    wallets.set(mint, opening);
    opening.catch(() => wallets.delete(mint));
  }
  return opening;
}

/** Every question to a mint: its troubles become sentences. */
async function ask<T>(mint: string, question: (wallet: Wallet, cashu: Library) => Promise<T>): Promise<T> {
  const cashu = await load();
  try {
    return await question(await open(mint), cashu);
  } catch (error) {
    if (error instanceof MintError) throw error;
    if (error instanceof cashu.MintOperationError)
      throw new MintError(`The mint at ${mintName(mint)} refuses: ${error.message}`, { cause: error });
    throw new MintError(`The mint at ${mintName(mint)} does not answer. Nothing is lost. Try again in a moment.`, {
      cause: error,
    });
  }
}

export function orderInvoice(mint: string, amountSats: number): Promise<Invoice> {
  return ask(mint, async (wallet, cashu) => {
    const quote = await wallet.createMintQuoteBolt11(amountSats);
    const { keyset, outputs } = await makeOutputs(wallet, cashu, amountSats, quote.quote);
    return { quote: quote.quote, request: quote.request, expires_at: quote.expiry || null, keyset, outputs };
  });
}

/** `ISSUED`: the mint has signed, and its response was lost. */
export function stateOf(order: Ordered): Promise<"UNPAID" | "PAID" | "ISSUED"> {
  return ask(order.mint, async (wallet) => (await wallet.checkMintQuoteBolt11(order.quote)).state);
}

/** Other secrets for the same invoice: the mint no longer signs with the keys that the first ones were made for. */
export function renewOutputs(order: Ordered): Promise<Pick<Ordered, "keyset" | "outputs">> {
  wallets.delete(order.mint);
  return ask(order.mint, (wallet, cashu) => makeOutputs(wallet, cashu, order.amount_sats, order.quote));
}

/** The money of a paid invoice as a token; "renew" if other secrets are needed first. Asking again gives the same money. */
export function collect(order: Ordered, isSigned: boolean): Promise<string | "renew"> {
  return ask(order.mint, async (wallet, cashu) => {
    const outputs = order.outputs.map((output) => cashu.OutputData.deserialize(output));
    const proofs =
      (isSigned ? null : await sign(wallet, cashu, order, outputs)) ?? (await restore(wallet, order, outputs));
    return proofs === "renew" ? proofs : cashu.getEncodedToken({ mint: order.mint, proofs, unit: "sat" });
  });
}

/** Null: it was signed before. */
async function sign(
  wallet: Wallet,
  cashu: Library,
  order: Ordered,
  outputData: OutputData[],
): Promise<Proof[] | "renew" | null> {
  const quote = { quote: order.quote };
  const payload = { ...quote, outputs: outputData.map((output) => output.blindedMessage) };
  try {
    return await wallet.completeMint({ method: "bolt11", payload, outputData, keysetId: order.keyset, quote });
  } catch (error) {
    if (!(error instanceof cashu.MintOperationError)) throw error;
    if (KEYSET_GONE.includes(error.code)) return "renew";
    if (SIGNED_ALREADY.includes(error.code)) return null;
    throw error;
  }
}

async function restore(wallet: Wallet, order: Ordered, outputData: OutputData[]): Promise<Proof[]> {
  const signed = await wallet.mint.restore({ outputs: outputData.map((output) => output.blindedMessage) });
  const signatures = new Map(signed.outputs.map((output, at) => [output.B_, signed.signatures[at]]));
  const keyset = wallet.getKeyset(order.keyset);
  return outputData.map((output) => {
    const signature = signatures.get(output.blindedMessage.B_);
    if (signature) return output.toProof(signature, keyset);
    throw new MintError(
      `The mint at ${mintName(order.mint)} says that this money was handed out, but not to this browser. Ask the mint about quote ${order.quote}.`,
    );
  });
}

async function makeOutputs(
  wallet: Wallet,
  cashu: Library,
  amountSats: number,
  quote: string,
): Promise<Pick<Invoice, "keyset" | "outputs">> {
  const preview = await wallet.prepareMint("bolt11", amountSats, { quote });
  return { keyset: preview.keysetId, outputs: preview.outputData.map((output) => cashu.OutputData.serialize(output)) };
}
