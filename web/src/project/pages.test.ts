import { describe, expect, test } from "vitest";
import { pathOfPage, textOfPage } from "./pages";

const PAGE = {
  title: "How long is a bridge?",
  final_url: "https://bridges.example/long",
  fetched_at: "2026-01-02T03:04:05Z",
  text: "It is long.\n",
};

describe("a page of the web in a project", () => {
  test("is a file named by its title, or by its address", () => {
    expect(pathOfPage(PAGE, [])).toBe("/articles/How long is a bridge.md");
    expect(pathOfPage({ ...PAGE, title: "" }, [])).toBe("/articles/bridges.example long.md");
    expect(pathOfPage({ ...PAGE, title: "../../etc/passwd" }, [])).toBe("/articles/etc passwd.md");
    expect(pathOfPage({ ...PAGE, title: "…" }, [])).toBe("/articles/page.md");
    expect(pathOfPage({ ...PAGE, title: "x".repeat(500) }, []).length).toBeLessThan(100);
  });

  test("never takes the place of a file that is there", () => {
    expect(pathOfPage(PAGE, ["/articles/how long is a BRIDGE.md", "/articles/How long is a bridge (2).md"])).toBe(
      "/articles/How long is a bridge (3).md",
    );
  });

  test("says where and when it was read", () => {
    expect(textOfPage(PAGE)).toBe(
      "# How long is a bridge?\n\nSource: https://bridges.example/long\nRead: 2026-01-02\n\nIt is long.\n",
    );
  });
});
