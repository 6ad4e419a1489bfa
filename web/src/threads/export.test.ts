import { describe, expect, it, vi } from "vitest";

vi.stubGlobal("window", new EventTarget());
const { asMarkdown, fileName } = await import("./export");

describe("asMarkdown", () => {
  it("tells who said what, and which tools were called", () => {
    const text = asMarkdown("A note", [
      { type: "human", id: "1", content: "Write" },
      { type: "ai", id: "2", content: "", tool_calls: [{ id: "c", name: "write_file", args: {} }] },
      { type: "tool", id: "3", name: "write_file", content: "Wrote it.\nDone.", tool_call_id: "c" },
      { type: "ai", id: "4", content: [{ type: "text", text: "Written." }] },
    ]);
    expect(text).toBe(
      "# A note\n\n## You\n\nWrite\n\n> called write_file\n\n> write_file: Wrote it.\n> Done.\n\n## Agent\n\nWritten.\n",
    );
  });
});

describe("fileName", () => {
  it.each([
    ["How long is it?", "How-long-is-it"],
    ["../../etc/passwd", "etcpasswd"],
    ["🙂", "conversation"],
  ])("makes %j harmless", (title, name) => {
    expect(fileName(title)).toBe(name);
  });
});
