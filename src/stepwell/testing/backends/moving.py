"""The part of the backend suite about `delete` and `move`. A backend without these verbs skips it."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.backends.composite import offers
from stepwell.backends.protocol import ErrorText
from stepwell.testing.backends.case import BackendCase, Verbs
from stepwell.testing.backends.paths import NASTY_PATHS


class DeletingCases(BackendCase):
    """Files and folders go, and nothing else does."""

    @pytest.fixture
    def deleting(self, files: Verbs) -> Verbs:
        if not offers(files.backend, "delete"):
            pytest.skip("this backend does not delete")
        return files

    def test_delete_removes_one_file(self, deleting: Verbs) -> None:
        deleting.put(a_md="one", ab_md="two", docs__a_md="three")
        result = deleting.delete("/a.md")
        assert (result.error, result.path, result.count) == (None, deleting.at("/a.md"), 1)
        assert deleting.names(deleting.glob("**/*")) == ["/ab.md", "/docs/a.md"]
        assert isinstance(deleting.read("/a.md"), ErrorText)

    def test_delete_removes_a_folder_with_everything_in_it(self, deleting: Verbs) -> None:
        deleting.put(docs__a_md="1", docs__deep__b_md="2", docs__deep__er__c_md="3", docsx__a_md="4", a_md="5")
        result = deleting.delete("/docs")
        assert (result.error, result.path, result.count) == (None, deleting.at("/docs"), 3)
        assert deleting.names(deleting.glob("**/*")) == ["/a.md", "/docsx/a.md"]

    def test_delete_takes_a_folder_with_its_slash(self, deleting: Verbs) -> None:
        deleting.put(docs__a_md="1", b_md="2")
        assert deleting.delete("/docs/").count == 1
        assert deleting.names(deleting.glob("**/*")) == ["/b.md"]

    def test_a_deleted_path_is_free(self, deleting: Verbs) -> None:
        deleting.put(docs__a_md="1", a_md="2")
        assert deleting.delete("/docs").error is None
        assert deleting.write("/docs", "now a file").error is None
        assert deleting.delete("/a.md").error is None
        assert deleting.write("/a.md/b.md", "now a folder").error is None

    def test_delete_of_nothing_is_an_error_and_changes_nothing(self, deleting: Verbs) -> None:
        """After a crash the same call may come again: it is told so, and can go on."""
        deleting.put(docs__a_md="1")
        for path in ("/none.md", "/doc", "/docs/a", "/docs/a.md/b"):
            result = deleting.delete(path)
            assert isinstance(result.error, ErrorText)
            assert deleting.at(path) in result.error
        assert deleting.names(deleting.glob("**/*")) == ["/docs/a.md"]

    def test_the_root_is_never_deleted(self, deleting: Verbs) -> None:
        deleting.put(a_md="1")
        for root in ("/", "", ".", "//"):
            result: Any = deleting.call("delete", root)
            assert isinstance(result.error, ErrorText)
        assert deleting.holds("/a.md", "1")

    def test_a_version_guards_a_deletion(self, deleting: Verbs) -> None:
        first = deleting.write("/a.md", "one")
        second = deleting.edit("/a.md", "one", "two")
        assert "conflict" in str(deleting.delete("/a.md", expected_version=first.version).error)
        assert deleting.holds("/a.md", "two")
        assert deleting.delete("/a.md", expected_version=second.version).error is None
        assert isinstance(deleting.delete("/a.md", expected_version=second.version).error, ErrorText)

    @pytest.mark.parametrize("path", NASTY_PATHS, ids=range(len(NASTY_PATHS)))
    def test_delete_and_move_refuse_nasty_paths(self, deleting: Verbs, path: Any) -> None:
        deleting.put(a_md="one")
        assert isinstance(deleting.call("delete", path).error, ErrorText)
        assert isinstance(deleting.call("move", path, deleting.at("/b.md")).error, ErrorText)
        assert isinstance(deleting.call("move", deleting.at("/a.md"), path).error, ErrorText)
        assert deleting.names(deleting.glob("**/*")) == ["/a.md"]


class MovingCases(BackendCase):
    """What is moved keeps its text, and what is there is not lost."""

    @pytest.fixture
    def moving(self, files: Verbs) -> Verbs:
        if not offers(files.backend, "move"):
            pytest.skip("this backend does not move")
        return files

    def test_move_renames_a_file(self, moving: Verbs) -> None:
        moving.put(a_md="one\n")
        result = moving.move("/a.md", "/new/b.md")
        assert (result.error, result.path, result.count) == (None, moving.at("/new/b.md"), 1)
        assert moving.names(moving.glob("**/*")) == ["/new/b.md"]
        assert moving.holds("/new/b.md", "one\n")

    def test_move_renames_a_folder_with_everything_in_it(self, moving: Verbs) -> None:
        moving.put(docs__a_md="1", docs__deep__b_md="2", docsx__a_md="3")
        result = moving.move("/docs", "/old/papers")
        assert (result.error, result.path, result.count) == (None, moving.at("/old/papers"), 2)
        assert moving.names(moving.glob("**/*")) == ["/docsx/a.md", "/old/papers/a.md", "/old/papers/deep/b.md"]
        assert moving.holds("/old/papers/deep/b.md", "2")

    def test_move_does_not_overwrite_unless_told_to(self, moving: Verbs) -> None:
        moving.put(a_md="one", b_md="two, longer")
        assert "overwrite" in str(moving.move("/a.md", "/b.md").error)
        assert moving.holds("/b.md", "two, longer")
        assert moving.move("/a.md", "/b.md", overwrite=True).error is None
        assert moving.names(moving.glob("**/*")) == ["/b.md"]
        assert moving.holds("/b.md", "one")

    def test_move_never_replaces_a_folder(self, moving: Verbs) -> None:
        moving.put(a_md="one", docs__b_md="two", other__c_md="three")
        for source in ("/a.md", "/other"):
            for overwrite in (False, True):
                assert "folder" in str(moving.move(source, "/docs", overwrite=overwrite).error)
        assert "file" in str(moving.move("/docs", "/a.md", overwrite=True).error)
        assert moving.names(moving.glob("**/*")) == ["/a.md", "/docs/b.md", "/other/c.md"]

    def test_move_refuses_into_itself_and_to_the_same_place(self, moving: Verbs) -> None:
        moving.put(a_md="one", docs__b_md="two")
        for source, destination in (("/docs", "/docs/deep"), ("/docs", "/docs/"), ("/a.md", "/a.md"), ("/a.md", "/a.md/b")):
            assert isinstance(moving.move(source, destination).error, ErrorText)
        assert moving.names(moving.glob("**/*")) == ["/a.md", "/docs/b.md"]

    def test_move_refuses_a_place_below_a_file(self, moving: Verbs) -> None:
        moving.put(a_md="one", b_md="two")
        assert moving.at("/b.md") in str(moving.move("/a.md", "/b.md/deep/c.md").error)
        assert moving.names(moving.glob("**/*")) == ["/a.md", "/b.md"]

    def test_move_of_nothing_is_an_error(self, moving: Verbs) -> None:
        moving.put(b_md="two")
        assert moving.at("/none.md") in str(moving.move("/none.md", "/c.md").error)

    def test_a_move_made_twice_says_that_it_may_be_done(self, moving: Verbs) -> None:
        """After a crash the same call may come again."""
        moving.put(a_md="one")
        assert moving.move("/a.md", "/b.md").error is None
        assert "already" in str(moving.move("/a.md", "/b.md").error)
        assert moving.holds("/b.md", "one")

    def test_the_root_is_never_moved(self, moving: Verbs) -> None:
        moving.put(a_md="one")
        assert isinstance(moving.call("move", "/", moving.at("/b")).error, ErrorText)
        assert isinstance(moving.call("move", moving.at("/a.md"), "/").error, ErrorText)
        assert moving.holds("/a.md", "one")

    def test_move_refuses_paths_that_would_be_too_long(self, moving: Verbs) -> None:
        room = 1024 - len(moving.at("").encode())
        deep = "/docs" + ("/" + "d" * 200) * ((room - 120) // 201)
        assert moving.write(deep + "/a.md", "one").error is None
        assert isinstance(moving.move("/docs", "/" + "x" * 250).error, ErrorText)
        assert moving.names(moving.glob("**/*")) == [deep + "/a.md"]

    def test_a_version_guards_a_move(self, moving: Verbs) -> None:
        first = moving.write("/a.md", "one")
        second = moving.edit("/a.md", "one", "two")
        assert "conflict" in str(moving.move("/a.md", "/b.md", expected_version=first.version).error)
        assert moving.move("/a.md", "/b.md", expected_version=second.version).error is None
        assert moving.holds("/b.md", "two")
