import { beforeAll, expect, test, vi } from "vitest";

beforeAll(() => {
  vi.stubGlobal("location", { pathname: "/", hash: "" });
  vi.stubGlobal("window", { addEventListener: () => undefined });
});

test("an address leads to a section of Settings, and an unknown section to the first one", async () => {
  const { sectionOf } = await import("./settings-place.svelte");
  expect(sectionOf("")).toBeNull();
  expect(sectionOf("#main")).toBeNull();
  expect(sectionOf("#settings")).toBe("models");
  expect(sectionOf("#settings/device")).toBe("device");
  expect(sectionOf("#settings/such")).toBe("models");
  expect(sectionOf("#settingsdevice")).toBeNull();
});
