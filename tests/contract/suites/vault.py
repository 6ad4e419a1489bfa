"""What every evidence vault must do, as tests. Subclass `VaultConformance` and give it an `open_vault` fixture.

```python
class TestMyVault(VaultConformance):
    @pytest.fixture
    def open_vault(self, tmp_path):
        return lambda: MyVault(tmp_path)     # each call opens the same place again; it is empty at first
```

For a vault that lives only in memory, return the same object each time.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable

import pytest

from stepwell.errors import EntryConflictError, EvidenceError, EvidenceMissingError
from stepwell.research.audit.trail import GENESIS, NewEntry, check_chain
from stepwell.research.audit.vault import EvidenceVault

OpenVault = Callable[[], EvidenceVault]


def note(key: str, **data: object) -> NewEntry:
    return NewEntry("request", key, dict(data))


class VaultConformance:
    """The rules of `stepwell.research.audit.vault`, each as a test."""

    @pytest.fixture
    def open_vault(self) -> OpenVault:
        raise NotImplementedError("Give the suite a function that opens the vault to test.")

    @pytest.fixture
    def vault(self, open_vault: OpenVault) -> EvidenceVault:
        return open_vault()

    @pytest.mark.parametrize("content", [b"", b"a page", "Zürich \U0001f30d".encode(), bytes(range(256)) * 5000])
    async def test_bytes_come_back_by_their_sha256(self, vault: EvidenceVault, content: bytes) -> None:
        name = await vault.put(content)
        assert name == hashlib.sha256(content).hexdigest()
        assert await vault.get(name) == content

    async def test_the_same_bytes_again_have_the_same_name(self, vault: EvidenceVault) -> None:
        assert await vault.put(b"twice") == await vault.put(b"twice")

    @pytest.mark.parametrize("name", ["0" * 64, "", "../trail.jsonl", "A" * 64, "0" * 63 + "\n"])
    async def test_bytes_nobody_stored_are_missing(self, vault: EvidenceVault, name: str) -> None:
        await vault.put(b"something else")
        with pytest.raises(EvidenceMissingError):
            await vault.get(name)

    async def test_a_new_vault_has_no_entries(self, vault: EvidenceVault) -> None:
        assert await vault.entries() == []
        assert await vault.find("k") is None

    async def test_entries_make_a_chain(self, vault: EvidenceVault) -> None:
        written = [await vault.append(note(f"k{n}", n=n)) for n in range(1, 6)]
        assert [entry.seq for entry in written] == [1, 2, 3, 4, 5]
        assert written[0].previous == GENESIS
        assert all(entry.at for entry in written)
        assert await vault.entries() == written
        assert check_chain(written) == []

    async def test_an_entry_is_found_by_its_key(self, vault: EvidenceVault) -> None:
        await vault.append(note("other"))
        written = await vault.append(note("k", url="https://example.test/ü"))
        assert await vault.find("k") == written
        assert await vault.find("K") is None

    async def test_the_same_entry_again_gives_the_stored_one(self, vault: EvidenceVault) -> None:
        first = await vault.append(note("k", n=1, list=(1, {"a": None})))
        again = await vault.append(note("k", list=[1, {"a": None}], n=1))
        assert again == first
        assert await vault.entries() == [first]

    @pytest.mark.parametrize("other", [note("k", n=2), note("k"), note("k", n=True), NewEntry("response", "k", {"n": 1})])
    async def test_a_known_key_with_other_data_is_refused(self, vault: EvidenceVault, other: NewEntry) -> None:
        first = await vault.append(note("k", n=1))
        with pytest.raises(EntryConflictError, match="'k'"):
            await vault.append(other)
        assert await vault.entries() == [first]
        assert (await vault.append(note("l"))).previous == first.hash

    async def test_entries_can_be_had_from_a_place_on(self, vault: EvidenceVault) -> None:
        written = [await vault.append(note(f"k{n}", n=n)) for n in range(1, 6)]
        assert [await vault.entries(after) for after in (0, 3, 5, 99)] == [written, written[3:], [], []]

    async def test_data_come_back_as_json_has_them(self, vault: EvidenceVault) -> None:
        data = {"b": [1, None, True], "a": {"ö": "\u2028\n\"'", "": []}, "t": (1, 2)}
        written = await vault.append(NewEntry("plan", "k", data))
        expected = {**data, "t": [1, 2]}
        assert written.data == expected
        assert (await vault.entries())[0].data == expected

    async def test_changing_what_was_returned_changes_nothing(self, vault: EvidenceVault) -> None:
        (await vault.append(note("k", list=[1]))).data["list"].append(2)
        (await vault.entries())[0].data["list"].append(3)
        found = await vault.find("k")
        assert found is not None
        assert found.data == {"list": [1]}

    @pytest.mark.parametrize("value", [0.5, float("nan"), 2**53, b"bytes", {1: 2}, "\ud800", object()])
    async def test_what_has_no_exact_json_is_refused(self, vault: EvidenceVault, value: object) -> None:
        with pytest.raises(EvidenceError):
            await vault.append(note("k", value=value))
        assert await vault.entries() == []
        assert (await vault.append(note("k", value=1))).seq == 1

    async def test_an_unknown_kind_is_refused(self, vault: EvidenceVault) -> None:
        with pytest.raises(EvidenceError, match="gossip"):
            await vault.append(NewEntry("gossip", "k", {}))  # type: ignore[arg-type]  # the point of the test

    async def test_an_entry_without_a_key_is_refused(self, vault: EvidenceVault) -> None:
        with pytest.raises(EvidenceError, match="key"):
            await vault.append(note(""))

    async def test_what_was_stored_is_there_when_opened_again(self, open_vault: OpenVault) -> None:
        first = open_vault()
        name, entry = await first.put(b"kept"), await first.append(note("k", n=1))
        second = open_vault()
        assert await second.get(name) == b"kept"
        assert await second.entries() == [entry]
        assert (await second.append(note("l"))).previous == entry.hash

    async def test_two_writers_make_one_chain(self, open_vault: OpenVault) -> None:
        one, two = open_vault(), open_vault()
        await asyncio.gather(
            *(vault.append(note(f"{who}{n}", n=n)) for n in range(25) for who, vault in (("a", one), ("b", two)))
        )
        entries = await one.entries()
        assert len(entries) == 50
        assert check_chain(entries) == []
        assert await two.entries() == entries

    async def test_one_key_written_at_the_same_time_is_written_once(self, open_vault: OpenVault) -> None:
        one, two = open_vault(), open_vault()
        answers = await asyncio.gather(
            *(vault.append(note("k", n=n)) for n in range(10) for vault in (one, two)), return_exceptions=True
        )
        (written,) = await one.entries()
        assert await two.entries() == [written]
        assert all(answer == written or isinstance(answer, EntryConflictError) for answer in answers)
        assert answers.count(written) == 2, "both of the vaults that said what is written"

    async def test_the_same_bytes_can_be_put_at_the_same_time(self, open_vault: OpenVault) -> None:
        one, two = open_vault(), open_vault()
        names = await asyncio.gather(*(vault.put(b"p" * 100_000) for _ in range(10) for vault in (one, two)))
        assert len(set(names)) == 1
        assert await two.get(names[0]) == b"p" * 100_000
