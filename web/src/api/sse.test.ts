import { describe, expect, it } from "vitest";
import { FrameParser } from "./sse";

describe("FrameParser", () => {
  it("gives whole frames, wherever the text was cut", () => {
    const text =
      'id: 1\nevent: metadata\ndata: {"run_id":"r"}\n\n: heartbeat\n\nid: 2\r\nevent: end\r\ndata: null\r\n\r\n';
    for (let size = 1; size < text.length; size++) {
      const parser = new FrameParser();
      const frames = [];
      for (let at = 0; at < text.length; at += size) frames.push(...parser.push(text.slice(at, at + size)));
      expect(frames).toEqual([
        { id: "1", event: "metadata", data: { run_id: "r" } },
        { id: "2", event: "end", data: null },
      ]);
    }
  });

  it("joins data lines and keeps what is not JSON as text", () => {
    expect(new FrameParser().push("data: not\ndata: json\n\n")).toEqual([
      { id: "", event: "message", data: "not\njson" },
    ]);
  });
});
