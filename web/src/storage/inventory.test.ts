import { expect, test } from "vitest";
import { STORES } from "../device/database";
import { GROUPS } from "./inventory";

test("every store of the device is in one group of the dialog, so that nothing is kept unseen", () => {
  expect(GROUPS.flatMap((group) => group.stores).sort()).toEqual([...STORES].sort());
  expect(GROUPS.every((group) => group.stores.includes(group.counted))).toBe(true);
});
