"""A backend behind permissions: every verb, sync and async, and nothing that tells of what is hidden."""

from __future__ import annotations

import asyncio
import os
from types import SimpleNamespace

import pytest
from langgraph.store.memory import InMemoryStore

from stepwell import ConfigurationError, FilesystemMiddleware
from stepwell.backends import CompositeBackend, FilesystemBackend, StateBackend, StoreBackend
from stepwell.backends.objects import ObjectBackend, memory_bucket
from stepwell.backends.permissions import FilesystemPermission, PathRules
from stepwell.backends.protocol import ErrorText
from stepwell.backends.tree import MAX_MATCHES
from stepwell.tools.files.permitted import PermittedBackend

FILES = {"/open/a.md": "word one", "/secrets/key.md": "word two", "/secrets/deep/b.md": "word three", "/top.md": "word four"}
BOTH = ["read", "write"]


def deny(*patterns, operations=BOTH):
    return PathRules([FilesystemPermission(operations, list(patterns), "deny")])


def filled(backend):
    for path, content in FILES.items():
        assert backend.write(path, content).error is None
    return backend


@pytest.fixture(params=["store", "disk", "objects", "composite"])
def backend(request, tmp_path):
    made = {
        "store": lambda: StoreBackend(InMemoryStore()),
        "disk": lambda: FilesystemBackend(tmp_path),
        "objects": lambda: ObjectBackend(memory_bucket(), "/w/"),
        "composite": lambda: CompositeBackend(StoreBackend(InMemoryStore()), {"/secrets/": FilesystemBackend(tmp_path)}),
    }
    return filled(made[request.param]())


@pytest.fixture
def guarded(backend):
    return PermittedBackend(backend, deny("/secrets/**"))


def paths_of(rows):
    return [row["path"] for row in rows]


def test_bulk_results_leave_out_what_is_denied(guarded):
    assert paths_of(guarded.ls_info("/")) == ["/open/", "/top.md"]
    assert paths_of(guarded.glob_info("**/*", "/")) == ["/open/a.md", "/top.md"]
    assert paths_of(guarded.grep_raw("word")) == ["/open/a.md", "/top.md"]
    assert paths_of(guarded.grep_raw("word", None, "*.md")) == ["/open/a.md", "/top.md"]


def test_async_verbs_obey_the_same_rules(guarded):
    async def ask():
        assert paths_of(await guarded.als_info("/")) == ["/open/", "/top.md"]
        assert paths_of(await guarded.aglob_info("**/*")) == ["/open/a.md", "/top.md"]
        assert paths_of(await guarded.agrep_raw("word")) == ["/open/a.md", "/top.md"]
        assert "permission denied for read" in await guarded.aread("/secrets/key.md")
        assert "permission denied for write" in (await guarded.awrite("/secrets/key.md", "x", overwrite=True)).error
        assert "permission denied for write" in (await guarded.aedit("/secrets/key.md", "word", "x")).error
        assert (await guarded.awrite("/open/new.md", "x")).error is None

    asyncio.run(ask())


def test_the_answer_is_the_same_whether_there_is_a_file_or_not(guarded):
    for there, missing in (("/secrets/key.md", "/secrets/no.md"), ("/secrets/deep", "/secrets/none")):
        for verb in (
            guarded.read,
            lambda path: guarded.ls_info(path).error,
            lambda path: guarded.glob_info("*", path).error,
            lambda path: guarded.grep_raw("word", path),
            lambda path: guarded.write(path, "x").error,
            lambda path: guarded.edit(path, "word", "x").error,
        ):
            assert verb(there).replace(there, "PATH") == verb(missing).replace(missing, "PATH")
            assert "permission denied" in verb(there)


@pytest.mark.parametrize(
    "form", ["\\secrets\\key.md", "secrets/key.md", "//secrets/./key.md", "/secrets//key.md", "/open/../secrets/key.md"]
)
def test_no_form_of_a_path_gets_around_the_rules(guarded, form):
    assert isinstance(guarded.read(form), ErrorText)
    assert guarded.write(form, "x", overwrite=True).error
    assert guarded.edit(form, "word", "x").error


def test_whole_files_obey_the_rules(guarded):
    assert isinstance(guarded.read_whole("/secrets/key.md"), ErrorText)
    hidden, shown = guarded.download_files(["/secrets/key.md", "/open/a.md"])
    assert (hidden.error, hidden.content, shown.content) == ("permission_denied", None, b"word one")
    refused, stored = guarded.upload_files([("/secrets/x.md", b"x"), ("/open/x.md", b"x")])
    assert (refused.error, stored.error) == ("permission_denied", None)


def test_an_edit_needs_to_read_as_well():
    """Whether a text occurs in a file is something about its content."""
    guarded = PermittedBackend(filled(StoreBackend(InMemoryStore())), deny("/secrets/**", operations=["read"]))
    assert "permission denied for read" in guarded.edit("/secrets/key.md", "word", "x").error
    assert guarded.write("/secrets/new.md", "x").error is None


def test_only_known_verbs_are_passed_on(guarded):
    for name in ("execute", "_tree", "_table", "bucket", "aexecute", "root"):
        assert not hasattr(guarded, name)


def test_hidden_matches_do_not_crowd_out_visible_ones(tmp_path):
    """A grep that is cut may have found only hidden lines; then what is visible is searched by itself."""
    backend = FilesystemBackend(tmp_path)
    backend.write("/aaa/big.md", "word\n" * (MAX_MATCHES + 50))
    backend.write("/work/aaa/big.md", "word\n" * (MAX_MATCHES + 50))
    backend.write("/work/b.md", "word\n")
    backend.write("/z.md", "word\n")
    guarded = PermittedBackend(backend, deny("/aaa/**", "/work/aaa"))
    found = guarded.grep_raw("word")
    assert paths_of(found) == ["/work/b.md", "/z.md"]
    assert found.note is None


def test_a_note_does_not_name_a_hidden_mount():
    class Remote(StoreBackend):
        remote = True

    tree = CompositeBackend(
        StoreBackend(InMemoryStore()), {"/device/": Remote(InMemoryStore()), "/far/": Remote(InMemoryStore())}
    )
    tree.write("/a.md", "word")
    assert "/device/" in PermittedBackend(tree, deny("/other")).grep_raw("word").note
    found = PermittedBackend(tree, deny("/device/**")).grep_raw("word")
    assert "/device" not in str(found.note)
    assert paths_of(PermittedBackend(tree, deny("/device/**")).ls_info("/")) == ["/a.md", "/far/"]


def test_an_error_does_not_tell_about_a_hidden_file():
    backend = StoreBackend(InMemoryStore())
    backend.write("/vault", "a file")
    guarded = PermittedBackend(backend, PathRules([FilesystemPermission(["read"], ["/vault"], "deny")]))
    assert "is a file" not in guarded.write("/vault/x", "x").error


def test_links_on_disk_do_not_lead_around_the_rules(tmp_path):
    backend = filled(FilesystemBackend(tmp_path))
    os.symlink(tmp_path / "secrets", tmp_path / "way")
    os.symlink(tmp_path / "secrets" / "key.md", tmp_path / "open" / "link.md")
    guarded = PermittedBackend(backend, deny("/secrets/**"))
    assert "two" not in guarded.read("/way/key.md")
    assert "two" not in guarded.read("/open/link.md")
    assert guarded.write("/open/link.md", "x", overwrite=True).error
    assert "two" not in str(guarded.grep_raw("word"))
    assert (tmp_path / "secrets" / "key.md").read_text() == "word two"


def test_a_file_with_two_names_has_one_rule(tmp_path):
    """With virtual_mode=False a path may be relative to the root, and the root may be named through a link."""
    real, link = tmp_path / "real", tmp_path / "link"
    (real / "secrets").mkdir(parents=True)
    (real / "secrets" / "key.md").write_text("word two")
    os.symlink(real, link)
    guarded = PermittedBackend(FilesystemBackend(link, virtual_mode=False), deny(f"{link}/secrets/**"))
    for form in (f"{link}/secrets/key.md", f"{real}/secrets/key.md", "secrets/key.md"):
        assert "permission denied" in guarded.read(form)
    asking = PathRules([FilesystemPermission(["read"], [f"{link}/secrets/**"], "interrupt")])
    asked = PermittedBackend(FilesystemBackend(link, virtual_mode=False), asking)
    assert "two" in asked.read(f"{link}/secrets/key.md")  # a person was asked about this very path
    assert "approval is needed" in asked.read("secrets/key.md")
    assert "approval is needed" in asked.grep_raw("word", f"{real}/secrets")


def test_state_files_and_factories_are_behind_the_rules_too():
    runtime = SimpleNamespace(state={"files": {path: {"content": [text]} for path, text in FILES.items()}})
    guarded = PermittedBackend(StateBackend, deny("/secrets/**")).bind(runtime)
    assert paths_of(guarded.glob_info("**/*")) == ["/open/a.md", "/top.md"]
    assert guarded.write("/open/b.md", "x").files_update
    assert "permission denied" in guarded.read("/secrets/key.md")


def test_commands_of_a_backend_and_rules_that_deny_are_refused():
    class Sandbox(StoreBackend):
        def execute(self, command):
            return SimpleNamespace(output="", exit_code=0)

    with pytest.raises(ConfigurationError, match="execute"):
        FilesystemMiddleware(backend=Sandbox(InMemoryStore()), permissions=[FilesystemPermission(["read"], ["/a"], "deny")])
    FilesystemMiddleware(backend=Sandbox(InMemoryStore()), permissions=[FilesystemPermission(["read"], ["/a"])])


def test_a_folder_is_deleted_only_as_a_whole(backend):
    guarded = PermittedBackend(backend, deny("/open/deep/**", operations=["write"]))
    backend.write("/open/deep/x.md", "x")
    refused = guarded.delete("/open")
    assert "permission denied for write on '/open'" in refused.error
    assert "/open/deep/**" in refused.error
    assert guarded.delete("/open/deep/x.md").error
    assert guarded.delete("/open/a.md").error is None
    assert guarded.delete("/missing").error == backend.delete("/missing").error
    assert "x" in backend.read("/open/deep/x.md")


def test_a_file_follows_the_first_rule_and_a_folder_does_not(backend):
    guarded = PermittedBackend(
        backend, PathRules([FilesystemPermission(BOTH, ["/open/**"]), FilesystemPermission(BOTH, ["/**"], "deny")])
    )
    assert guarded.delete("/open/a.md").error is None
    assert "permission denied" in guarded.delete("/secrets/key.md").error
    assert "permission denied" in guarded.delete("/").error


def test_a_move_needs_both_ends(backend):
    guarded = PermittedBackend(backend, deny("/secrets/**"))
    for source, destination in (
        ("/secrets/key.md", "/k.md"),
        ("/top.md", "/secrets/t.md"),
        ("/open", "/secrets/open"),
        ("/secrets", "/s"),
    ):
        assert "permission denied" in guarded.move(source, destination).error
    assert guarded.move("/top.md", "/open/t.md").error is None
    assert paths_of(guarded.glob_info("**/*")) == ["/open/a.md", "/open/t.md"]


@pytest.mark.parametrize("pattern", ["/secrets/**.md", "/**y.md", "/secrets/{deep/b,key}.md", "/secrets[.-0]key.md"])
def test_a_folder_stays_if_a_pattern_crosses_it_in_any_form(backend, pattern):
    made = PermittedBackend(backend, deny(pattern))
    assert "permission denied" in (made.delete("/secrets").error or "")
    assert "permission denied" in (made.move("/secrets", "/moved").error or "")


def test_reading_cannot_be_had_by_moving(backend):
    guarded = PermittedBackend(backend, deny("/secrets/**", operations=["read"]))
    assert "permission denied for read" in guarded.move("/secrets/key.md", "/k.md").error
    assert guarded.move("/secrets", "/s").error


def test_a_count_does_not_tell_of_hidden_files(tmp_path):
    backend = filled(FilesystemBackend(tmp_path))
    guarded = PermittedBackend(backend, deny("/secrets/deep/**", operations=["read"]))
    assert guarded.delete("/secrets").count is None
    assert guarded.delete("/open").count == 1


def test_delete_and_move_obey_in_async_code(backend):
    guarded = PermittedBackend(backend, deny("/secrets/**"))

    async def ask():
        assert "permission denied" in (await guarded.adelete("/secrets/key.md")).error
        assert "permission denied" in (await guarded.amove("/top.md", "/secrets/t.md")).error
        assert (await guarded.adelete("/top.md")).error is None

    asyncio.run(ask())


def test_commands_may_run_if_the_rules_are_only_about_mounts():
    class Sandbox(StoreBackend):
        def execute(self, command):
            return SimpleNamespace(output="ran", exit_code=0)

    tree = CompositeBackend(Sandbox(InMemoryStore()), {"/memories/": StoreBackend(InMemoryStore())})
    made = FilesystemMiddleware(backend=tree, permissions=[FilesystemPermission(["write"], ["/memories/**"], "deny")])
    assert "execute" in [tool.name for tool in made.tools]
    assert made.files.execute("ls").output == "ran"
    with pytest.raises(ConfigurationError, match="execute"):
        FilesystemMiddleware(backend=tree, permissions=[FilesystemPermission(["write"], ["/**"], "deny")])


def test_rules_of_the_wrong_type_are_refused():
    with pytest.raises(ConfigurationError, match="FilesystemPermission"):
        FilesystemMiddleware(permissions=[{"operations": ["read"], "paths": ["/a"]}])
