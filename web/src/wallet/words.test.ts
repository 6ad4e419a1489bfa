import { describe, expect, it } from "vitest";
import type { Entry, Session } from "./api";
import {
  available,
  cleanToken,
  faultOf,
  hasToken,
  linesOf,
  readAmount,
  refusalWords,
  sats,
  sumsOf,
  totalOf,
} from "./words";

const session = (more: Partial<Session>): Session => ({
  funding_id: "s",
  funded: 0,
  waiting: 0,
  reserved: 0,
  spent: 0,
  fees: 0,
  refunded: 0,
  balance: 0,
  ceiling: null,
  lost_answers: 0,
  state: "active",
  mint: "https://mint.example",
  created_at: "",
  touched_at: "",
  price: {},
  ...more,
});
const entry = (seq: number, kind: Entry["kind"], amount_sats: number): Entry => ({
  seq,
  funding_id: "s",
  kind,
  amount_sats,
  at: "",
});

describe("amounts", () => {
  it("have thousands separators and the right number", () => {
    expect([sats(0), sats(1), sats(1234567), sats(-1)]).toEqual(["0 sats", "1 sat", "1,234,567 sats", "-1 sat"]);
  });
  it("are read as people write them, and refused otherwise", () => {
    expect([" 1,000 ", "21", "", "0", "-5", "1.5", "1e3", "9".repeat(13)].map(readAmount)).toEqual([
      1000,
      21,
      null,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("what a session can pay", () => {
  it("counts tokens that wait, and leaves what calls hold", () => {
    expect(available(session({ balance: 20, waiting: 30, reserved: 5 }))).toBe(45);
  });
  it("ends at the ceiling", () => {
    expect(available(session({ balance: 80, spent: 20, reserved: 5, ceiling: 30 }))).toBe(5);
  });
  it("is nothing once it has ended", () => {
    expect(available(session({ balance: 20, state: "refund_ready" }))).toBe(0);
    expect(totalOf([session({ balance: 20, state: "refund_ready" }), session({ balance: 3, waiting: 4 })])).toBe(7);
  });
});

describe("a history", () => {
  const entries = [
    entry(1, "credit", 100),
    entry(2, "fee", 1),
    entry(3, "charge", 5),
    entry(4, "charge", 5),
    entry(5, "void", 5),
    entry(6, "charge", 5),
    entry(7, "refund", 88),
    entry(8, "fee", 1),
  ];
  it("adds up to the sat", () => {
    expect(sumsOf(entries)).toEqual({ paidIn: 100, fees: 2, spent: 10, paidBack: 88, left: 0, calls: 2 });
  });
  it("has the balance after each line", () => {
    expect(linesOf(entries).map((line) => line.balance)).toEqual([100, 99, 94, 89, 94, 89, 1, 0]);
  });
  it("of nothing is nothing", () => {
    expect(sumsOf([])).toEqual({ paidIn: 0, fees: 0, spent: 0, paidBack: 0, left: 0, calls: 0 });
  });
});

describe("a pasted token", () => {
  it("loses line breaks and the address scheme", () => {
    expect(cleanToken(" cashu:cashuBo2\n FtdQ ")).toBe("cashuBo2FtdQ");
    expect(cleanToken("web+cashu://cashuAey")).toBe("cashuAey");
    expect(cleanToken("cashuBabc")).toBe("cashuBabc");
  });
  it("is noticed in a message", () => {
    expect(hasToken(`Here: cashuB${"o2F0gaJhaUgB".repeat(6)} thanks`)).toBe(true);
    expect(hasToken("A token begins with cashuA or cashuB.")).toBe(false);
  });
  it("is told from an invoice and from a request", () => {
    expect(faultOf("lnbc100n1p")).toContain("Lightning invoice");
    expect(faultOf("creqApWF0")).toContain("request for money");
    expect(faultOf("cashuB".padEnd(1_000_001, "a"))).toContain("too long");
    expect(faultOf("cashuBo2F")).toBe("");
  });
  it("that is refused is still the payer's, unless it is spent", () => {
    expect(refusalWords({ ok: false, code: "mint_unknown", detail: "Not here." })).toBe(
      "Not here. Nothing was taken: it is still yours.",
    );
    expect(refusalWords({ ok: false, code: "token_spent", detail: "Spent." })).toBe("Spent.");
  });
});
