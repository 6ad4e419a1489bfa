import { describe, expect, it } from "vitest";
import { fileChange, markOf } from "./change";

describe("fileChange", () => {
  it("is a new file, or the file before", () => {
    expect(fileChange("write_file", { file_path: "/a", content: "x" }, {})).toEqual({
      path: "/a",
      before: "",
      after: "x",
      whole: true,
      isNew: true,
      warnings: [],
    });
    expect(fileChange("write_file", { file_path: "/a", content: "x", overwrite: true }, { "/a": "y" })!.before).toBe(
      "y",
    );
  });

  it("warns of a call that will fail", () => {
    const files = { "/a": "one two one" };
    const of = (tool: string, args: Record<string, string | boolean>) =>
      fileChange(tool, { file_path: "/a", ...args }, files)!.warnings;
    expect(of("write_file", { content: "x" })[0]).toMatch(/^The file exists/);
    expect(of("edit_file", { old_string: "three", new_string: "" })[0]).toMatch(/is not in the file/);
    expect(of("edit_file", { old_string: "one", new_string: "" })[0]).toMatch(/stands there 2 times/);
    expect(of("edit_file", { old_string: "two", new_string: "2" })).toEqual([]);
  });

  it("shows an edit in its file, with a replacement taken literally", () => {
    const change = fileChange(
      "edit_file",
      { file_path: "/a", old_string: "b", new_string: "$&" },
      { "/a": "a\nb\nc" },
    )!;
    expect([change.before, change.after]).toEqual(["a\nb\nc", "a\n$&\nc"]);
  });

  it("shows the text that a deletion takes away", () => {
    const change = fileChange("delete", { file_path: "/a" }, { "/a": "one" })!;
    expect([change.before, change.after, change.isNew]).toEqual(["one", "", false]);
    expect(fileChange("delete", { file_path: "/docs" }, { "/docs/a": "one" })).toBe(null);
  });

  it("is none for other calls", () => {
    expect(fileChange("send", { file_path: "/a", content: "x" }, {})).toBe(null);
    expect(fileChange("write_file", { content: "x" }, {})).toBe(null);
  });
});

describe("markOf", () => {
  it("differs for texts that differ", () => {
    expect(markOf("a")).not.toBe(markOf("b"));
    expect(markOf("a")).toBe(markOf("a"));
  });
});
