import { beforeEach, describe, expect, it, vi } from "vitest";
import { keepReceipts, keptReceipts, type Receipt } from "./receipts";

describe("receipts", () => {
  beforeEach(() => {
    const stored = new Map<string, string>();
    vi.stubGlobal("sessionStorage", {
      getItem: (name: string) => stored.get(name) ?? null,
      setItem: (name: string, value: string) => void stored.set(name, value),
    });
  });

  it("outlive a reload, with their places, each thread its own", () => {
    const given: Receipt = { id: "i1", words: "You approved: A.", at: new Date(5), place: { turn: "q1", after: 2 } };
    keepReceipts("t1", [given]);
    expect(keptReceipts("t1")).toEqual([given]);
    expect(keptReceipts("t2")).toEqual([]);
  });

  it("are none where the browser keeps nothing", () => {
    vi.stubGlobal("sessionStorage", undefined);
    expect(keptReceipts("t1")).toEqual([]);
  });
});
