// What cashu-ts reads in payment requests, and writes again: one line of JSON for each line of input.
import { createInterface } from "node:readline";
import { PaymentRequest } from "@cashu/cashu-ts";

for await (const line of createInterface({ input: process.stdin })) {
  const request = PaymentRequest.fromEncodedRequest(line);
  const { id, unit, mints, description, singleUse, transport, nut10 } = request;
  const amount = request.amount === undefined ? undefined : Number(request.amount);
  const again = [request.toEncodedCreqA(), request.toEncodedCreqB()];
  console.log(JSON.stringify({ id, amount, unit, mints, description, singleUse, transport, nut10, again }));
}
