"""What the page keeps on a device, seen and set from outside: the browser's own IndexedDB."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from playwright.sync_api import Page

PROJECT = "p1"
DATABASE = "stepwell"
_OPEN = """
const open = async () => {
  const name = %s;
  for (;;) {
    const found = await new Promise((resolve) => {
      const request = indexedDB.open(name);
      request.onupgradeneeded = () => request.transaction.abort();  // the page has not made it yet
      request.onerror = () => resolve(null);
      request.onsuccess = () => resolve(request.result);
    });
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
const ended = (transaction) => new Promise((resolve, reject) => {
  transaction.oncomplete = resolve;
  transaction.onabort = () => reject(transaction.error);
});
"""
_PUT = """async (rows) => {%s
  const database = await open();
  const transaction = database.transaction(Object.keys(rows), "readwrite");
  for (const [store, each] of Object.entries(rows)) for (const row of each) transaction.objectStore(store).put(row);
  await ended(transaction);
  database.close();
  const channel = new BroadcastChannel("stepwell.device");
  for (const topic of ["projects", "files"]) channel.postMessage(topic);
  channel.close();
}"""
_ALL = """async (store) => {%s
  const database = await open();
  const request = database.transaction(store).objectStore(store).getAll();
  const rows = await new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
  database.close();
  return rows;
}"""


def put_project(
    page: Page,
    files: Mapping[str, str],
    *,
    project: str = PROJECT,
    name: str = "Thesis",
    write_approval: bool = True,
    database: str = DATABASE,
) -> None:
    """A project with these files, chosen."""
    kept = {"id": project, "name": name, "created_at": "2026-01-01T00:00:00Z", "write_approval": write_approval, "kind": "kept"}
    rows = [_row(project, path, text) for path, text in files.items()]
    contents = [
        {"file_id": row["id"], "project_id": project, "text": text} for row, text in zip(rows, files.values(), strict=True)
    ]
    chosen = [{"key": "current_project", "value": project}]
    put(page, {"projects": [kept], "files": rows, "contents": contents, "settings": chosen}, database)


def put(page: Page, rows: Mapping[str, list[dict[str, Any]]], database: str = DATABASE) -> None:
    page.evaluate(_PUT % (_OPEN % json.dumps(database)), rows)


def rows_of(page: Page, store: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(_ALL % (_OPEN % json.dumps(DATABASE)), store)
    return found


def texts_of(page: Page) -> dict[str, str]:
    """Path -> text of every file."""
    texts = {row["file_id"]: row.get("text", "") for row in rows_of(page, "contents")}
    return {row["path"]: texts[row["id"]] for row in rows_of(page, "files")}


def steps(*listed: tuple[str, dict[str, Any]]) -> str:
    """What the graph `filer` is told to do, or `juggler` at once."""
    return json.dumps(listed)


def _row(project: str, path: str, text: str) -> dict[str, Any]:
    body = text.encode()
    return {
        "id": f"{project}{path}",
        "project_id": project,
        "path": path,
        "path_key": path.lower(),
        "title": path.rpartition("/")[2],
        "type": "note",
        "hash": hashlib.sha256(body).hexdigest(),
        "size": len(body),
        "modified_at": "2026-01-01T00:00:00Z",
    }
