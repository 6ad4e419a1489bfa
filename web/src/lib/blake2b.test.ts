import { expect, it } from "vitest";
import { blake2b } from "./blake2b";

const digest = (text: string, size = 12) => blake2b(new TextEncoder().encode(text), size);

it("gives what Python's hashlib gives", () => {
  expect(digest("")).toBe("b8e1dda3ac0aa3820ad2990b");
  expect(digest("abc")).toBe("48b4f1f9042a2d5033b382b5");
  expect(digest("ü".repeat(64))).toBe("a8295a8729e290bd80e835c4");
  expect(digest("x".repeat(128))).toBe("fb60d111deaa646b592ee698");
  expect(digest("x".repeat(129))).toBe("33f607005de1ae0fa7012fac");
  expect(digest("y".repeat(1000))).toBe("02b36ed7528c0337c65f8e9e");
});

it("gives the RFC's own example", () => {
  expect(digest("abc", 64)).toBe(
    "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
  );
});
