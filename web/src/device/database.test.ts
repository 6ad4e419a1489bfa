import "fake-indexeddb/auto";
import { describe, expect, test, vi } from "vitest";
import {
  announceChange,
  Device,
  DeviceUnavailableError,
  onChange,
  openDevice,
  QuotaError,
  STORES,
  type Project,
} from "./database";
import { listSent, recordSent } from "./sent-log";
import { translate } from "./connection";

const project = (id: string, name = "Notes"): Project => ({
  id,
  name,
  created_at: "2026-01-01T00:00:00Z",
  write_approval: true,
  kind: "kept",
});

describe("a transaction", () => {
  test("keeps what it wrote, also for another connection", async () => {
    const device = await openDevice("kept");
    await device.write("projects", (stores) => stores.projects.put(project("p1")));
    const other = new Device("kept");
    expect(await other.read("projects", (stores) => stores.projects.all())).toEqual([project("p1")]);
  });

  test("that fails in the middle leaves nothing", async () => {
    const device = await openDevice("failing");
    const failing = device.write(["projects", "settings"], async (stores) => {
      await stores.projects.put(project("p1"));
      await stores.settings.put({ key: "a", value: 1 });
      throw new Error("the third step does not fit");
    });
    await expect(failing).rejects.toThrow("the third step does not fit");
    expect(await device.read("projects", (stores) => stores.projects.count())).toBe(0);
    expect(await device.read("settings", (stores) => stores.settings.count())).toBe(0);
  });

  test("refuses two files of one project under one key", async () => {
    const device = await openDevice("unique");
    const file = {
      project_id: "p",
      path: "/A.md",
      path_key: "/a.md",
      title: "A.md",
      type: "note",
      hash: "",
      size: 0,
      modified_at: "",
    };
    await device.write("files", (stores) => stores.files.add({ ...file, id: "1" }));
    await expect(
      device.write("files", (stores) => stores.files.add({ ...file, id: "2", path: "/a.md" })),
    ).rejects.toMatchObject({ name: "ConstraintError" });
    expect(await device.read("files", (stores) => stores.files.count())).toBe(1);
  });

  test("walks over rows until it is told to stop", async () => {
    const device = await openDevice("walk");
    await device.write("settings", async (stores) => {
      for (const key of ["a", "b", "c"]) await stores.settings.put({ key, value: key });
    });
    const seen: string[] = [];
    await device.read("settings", (stores) => stores.settings.each((row) => (seen.push(row.key), row.key !== "b")));
    expect(seen).toEqual(["a", "b"]);
  });
});

describe("the connection", () => {
  test("has every store", async () => {
    const device = await openDevice("all");
    for (const store of STORES) expect(await device.read(store, (stores) => stores[store].count())).toBe(0);
  });

  test("gives way to a newer version, and says so when it comes back", async () => {
    const device = await openDevice("upgraded");
    const newer = indexedDB.open("upgraded", 2);
    const opened = await new Promise<IDBDatabase>((resolve) => (newer.onsuccess = () => resolve(newer.result)));
    await expect(device.read("projects", (stores) => stores.projects.all())).rejects.toThrow("Reload this tab");
    opened.close();
  });

  test("says which tab is in the way of an upgrade", async () => {
    const old = indexedDB.open("old", 1);
    old.onupgradeneeded = () => undefined;
    const held = await new Promise<IDBDatabase>((resolve) => (old.onsuccess = () => resolve(old.result)));
    held.onversionchange = null;
    const { openConnection } = await import("./connection");
    await expect(
      openConnection(
        "old",
        2,
        () => undefined,
        () => undefined,
      ),
    ).rejects.toThrow("Close or reload that tab");
    held.close();
  });

  test("is said to be unavailable in a private window", async () => {
    vi.stubGlobal("indexedDB", {
      open: () => {
        throw new DOMException("denied", "SecurityError");
      },
    });
    await expect(openDevice("private")).rejects.toThrow(DeviceUnavailableError);
    vi.unstubAllGlobals();
    expect(await openDevice("private")).toBeInstanceOf(Device);
  });

  test("says that the room is used up", () => {
    expect(translate(new DOMException("", "QuotaExceededError"))).toBeInstanceOf(QuotaError);
    expect(new QuotaError().message).toContain("nothing of this was kept");
  });
});

test("a change is heard by everybody who listens for it, until they stop", () => {
  const heard = vi.fn();
  const stop = onChange("files", heard);
  announceChange("projects");
  announceChange("files");
  stop();
  announceChange("files");
  expect(heard).toHaveBeenCalledTimes(1);
});

test("a change is heard in another tab", async () => {
  const heard = new Promise<void>((resolve) => onChange("outbox", resolve));
  const otherTab = new BroadcastChannel("stepwell.device");
  otherTab.postMessage("outbox");
  await heard;
  otherTab.close();
});

test("departures are listed newest first, by thread, with an excerpt in place of the text", async () => {
  const leaving = {
    kind: "file" as const,
    thread_id: "t1",
    to: "deeptutor",
    label: "/notes.md",
    text: "x".repeat(2_000),
  };
  await recordSent(leaving);
  await new Promise((resolve) => setTimeout(resolve, 2));
  await (
    await openDevice()
  ).write("departures", (stores) => recordSent({ ...leaving, thread_id: "t2", label: "/b.md" }, stores));
  const all = await listSent();
  expect(all.map((row) => row.label)).toEqual(["/b.md", "/notes.md"]);
  expect(all[1]).toMatchObject({ characters: 2_000, excerpt: "x".repeat(500) });
  expect(await listSent({ thread_id: "t1" })).toHaveLength(1);
});
