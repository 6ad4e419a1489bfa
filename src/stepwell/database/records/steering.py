"""Messages that were sent to runs while they work: listing and withdrawing them. Sending is the queue's (`RunQueue.steer`)."""

from __future__ import annotations

from stepwell.database import sent_messages
from stepwell.database.records.base import RecordsPart
from stepwell.database.records.threads import owned_thread
from stepwell.database.sent_messages import SentMessage
from stepwell.sql import Connection


class SteeringRecords(RecordsPart):
    """The part of the repository that is about messages to runs."""

    async def list_waiting_messages(self, owner: str | None, thread_id: str) -> list[SentMessage]:
        """The messages that no run of the thread has taken yet, in their order."""

        def work(connection: Connection) -> list[SentMessage]:
            owned_thread(connection, owner, thread_id)
            return sent_messages.list_sent(connection, thread_id, left_only=True)

        return await self._database.read(work)

    async def was_sent(self, owner: str | None, thread_id: str, message_id: str) -> bool:
        """Whether a message with this id was sent to a run of the thread."""

        def work(connection: Connection) -> bool:
            owned_thread(connection, owner, thread_id)
            return any(each.message.id == message_id for each in sent_messages.list_sent(connection, thread_id))

        return await self._database.read(work)

    async def withdraw_message(self, owner: str | None, thread_id: str, message_id: str) -> None:
        """Delete a message that waits. `MessageTakenError` if the agent has it already."""

        def work(connection: Connection) -> None:
            owned_thread(connection, owner, thread_id)
            sent_messages.withdraw(connection, thread_id, message_id)

        await self._database.write(work, frees=True)
