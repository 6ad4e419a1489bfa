// A payer's wallet: `node wallet.mjs <mint> buy <sats>` prints a token, `node wallet.mjs <mint> receive <token>` prints what came in.
import { Wallet, getEncodedToken } from "@cashu/cashu-ts";

const [url, action, given] = process.argv.slice(2);
const wallet = new Wallet(url, { unit: "sat" });
await wallet.loadMint();

if (action === "buy") {
  const { quote } = await wallet.createMintQuoteBolt11(Number(given));
  while ((await wallet.checkMintQuoteBolt11(quote)).state !== "PAID");
  const proofs = await wallet.mintProofsBolt11(Number(given), quote);
  console.log(getEncodedToken({ mint: url, proofs, unit: "sat" }));
} else {
  const proofs = await wallet.receive(given);
  console.log(proofs.reduce((sum, proof) => sum + Number(proof.amount), 0));
}
