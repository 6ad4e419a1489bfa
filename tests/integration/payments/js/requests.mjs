// What cashu-ts reads in payment requests: one line of JSON for each line of input.
import { createInterface } from "node:readline";
import { PaymentRequest } from "@cashu/cashu-ts";

for await (const line of createInterface({ input: process.stdin })) {
  const request = PaymentRequest.fromEncodedRequest(line);
  const { id, unit, mints, description, singleUse } = request;
  const amount = request.amount === undefined ? undefined : Number(request.amount);
  console.log(JSON.stringify({ id, amount, unit, mints, description, singleUse }));
}
