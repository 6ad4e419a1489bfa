"""The part of the repository that is about background tasks."""

from __future__ import annotations

from stepwell.database.records.background import find, of_parent
from stepwell.database.records.base import RecordsPart
from stepwell.database.records.threads import owned_thread
from stepwell.database.types import BackgroundTask
from stepwell.errors import NotFoundError
from stepwell.sql import Connection


class TaskRecords(RecordsPart):
    """Background tasks, by the thread that started them."""

    async def background_tasks(self, owner: str | None, thread_id: str) -> list[BackgroundTask]:
        """The tasks that a thread has started, oldest first."""

        def work(connection: Connection) -> list[BackgroundTask]:
            owned_thread(connection, owner, thread_id)
            return of_parent(connection, thread_id)

        return await self._database.read(work)

    async def background_task(self, owner: str | None, thread_id: str, task_id: str) -> BackgroundTask:
        """One task of a thread, with its answer if it has one."""

        def work(connection: Connection) -> BackgroundTask:
            owned_thread(connection, owner, thread_id)
            task = find(connection, None, [task_id], results=True).get(task_id)
            if task is None or task.parent_thread_id != thread_id:
                raise NotFoundError("background task", task_id, "List the tasks of the thread to see which there are.")
            return task

        return await self._database.read(work)
