import { expect, it } from "vitest";
import { versionOf } from "./versions";

const version = (text: string) => versionOf(new TextEncoder().encode(text));

it("names a content as the server does: Python's blake2b of 12 bytes", () => {
  expect(version("")).toBe("b8e1dda3ac0aa3820ad2990b");
  expect(version("abc")).toBe("48b4f1f9042a2d5033b382b5");
  expect(version("ü".repeat(64))).toBe("a8295a8729e290bd80e835c4");
  expect(version("x".repeat(128))).toBe("fb60d111deaa646b592ee698");
  expect(version("x".repeat(129))).toBe("33f607005de1ae0fa7012fac");
  expect(version("y".repeat(1000))).toBe("02b36ed7528c0337c65f8e9e");
});
