import { describe, expect, it } from "vitest";
import { KEYS, keyWords, matches, shortcutOf, type Binding } from "./keys";

const all = Object.values(KEYS) as Binding[];

function press(keys: string, extra: Partial<KeyboardEvent> = {}): KeyboardEvent {
  const parts = keys.split("+");
  const key = parts.at(-1)!;
  return {
    key: key === "Esc" ? "Escape" : key.length === 1 && !parts.includes("Shift") ? key.toLowerCase() : key,
    code: /^[A-Z]$/.test(key) ? `Key${key}` : key,
    ctrlKey: parts.includes("Ctrl"),
    altKey: parts.includes("Alt"),
    shiftKey: parts.includes("Shift"),
    metaKey: false,
    ...extra,
  } as KeyboardEvent;
}

describe("keys", () => {
  it("each combination means one thing in its place", () => {
    const named = all.map((each) => `${each.place}: ${each.keys}`);
    expect(new Set(named).size).toBe(named.length);
  });

  it("finds each shortcut by its own combination", () => {
    for (const [name, each] of Object.entries(KEYS)) expect(shortcutOf(press(each.keys), each.place)).toBe(name);
  });

  it("answers with combinations that never type a character", () => {
    for (const each of all.filter((each) => each.place === "Answering a question"))
      expect(each.keys).toMatch(/^(Ctrl\+|Alt\+|Esc$)/);
  });

  it("knows Option+E on a Mac by the key's place, and Command for Ctrl", () => {
    expect(matches(press("Alt+E", { key: "Dead" }), "Alt+E")).toBe(true);
    expect(matches(press("Ctrl+Enter", { ctrlKey: false, metaKey: true }), "Ctrl+Enter")).toBe(true);
    expect(matches(press("Enter"), "Ctrl+Enter")).toBe(false);
  });

  it("leaves AltGr alone: it types", () => {
    expect(matches(press("Alt+E", { ctrlKey: true, key: "€" }), "Alt+E")).toBe(false);
  });

  it("names keys as the platform does", () => {
    expect(keyWords("Ctrl+Enter", false)).toBe("Ctrl+Enter");
    expect(keyWords("Ctrl+Enter", true)).toBe("⌘↩");
    expect(keyWords("Alt+E", true)).toBe("⌥E");
  });
});
