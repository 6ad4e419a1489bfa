"""W4, W9: which object a path is, and what is refused as a tenant's root."""

from __future__ import annotations

import pytest

from stepwell.backends.objects import ObjectBackend, check_root, memory_bucket
from stepwell.backends.objects.names import folder_key, object_key, path_of
from stepwell.backends.protocol import ErrorText
from stepwell.errors import InvalidRequestError


@pytest.mark.parametrize(
    "raw", ["company/workspace", "/company/workspace", "company/workspace/", "//company//workspace//", "/company/./workspace/"]
)
def test_a_root_has_one_normal_form(raw: str):
    assert check_root(raw) == "/company/workspace/"


@pytest.mark.parametrize(
    "raw",
    ["", "/", "//", " ", ".", "..", "/../", "/t1/..", "/t1/../t2/", "%2e%2e", "/t1/%2e%2e/t2", "/t1/..%2ft2",
     "/．．/t2", "t1\\..\\t2", "t1\x00", "t1\r\n",
     "\u202et1", "gs://bucket/t1",
     "~/t1", "/t1./x", "/.well-known/acme-challenge/", "/" + "x" * 200 + "/" + "x" * 200 + "/" + "x" * 200, None, 7, ["t1"]],
    ids=lambda raw: ascii(raw)[:40],
)  # fmt: skip
def test_what_is_no_root_is_refused(raw: object):
    """W9: no spelling of nothing, or of a way out, becomes a root."""
    with pytest.raises(InvalidRequestError, match="workspace root"):
        check_root(raw)


def test_names_begin_with_the_root_and_a_slash():
    assert object_key("gcs", "/t1/", "/a.md") == "t1/a.md"
    assert folder_key("/t1/", "/") == "t1/"
    assert folder_key("/t1/", "/docs") == "t1/docs/"
    assert path_of("/t1/", "t1/docs/a.md") == "/docs/a.md"


@pytest.mark.parametrize("key", ["t1/a//b", "t1/a/../b", "t1/a\nb", "t1/a\\b", "t1/%2e%2e/b"])
def test_names_of_other_programs_that_are_no_paths_have_none(key: str):
    assert path_of("/t1/", key) is None


@pytest.mark.parametrize("name", ["#", "?", "a#b?c", "100%", "*[x]?", "ünï", "a" * 255])
def test_unusual_names_are_names_in_every_store(name: str):
    for kind in ("gcs", "s3", "azure"):
        assert object_key(kind, "/t1/", f"/{name}") == f"t1/{name}"


def test_a_name_has_at_most_1024_bytes_root_included():
    root, path = "/t1/", "/" + "/".join(["x" * 200] * 5)
    assert object_key("gcs", root, path) == f"t1{path}"
    longer = path + "y" * (1_024 - len("t1" + path))
    assert not isinstance(object_key("gcs", root, longer), ErrorText)
    assert "too long" in object_key("gcs", root, longer + "y")


def test_azure_takes_no_part_that_ends_with_a_full_stop():
    assert "full stop" in object_key("azure", "/t1/", "/docs./a.md")
    assert object_key("s3", "/t1/", "/docs./a.md") == "t1/docs./a.md"


async def test_a_path_that_is_too_long_for_the_store_is_a_result():
    files = ObjectBackend(memory_bucket(), "/" + "r" * 200)
    path = "/" + "/".join(["x" * 200] * 5)
    assert "too long" in (await files.awrite(path, "one")).error
    assert "no file" in await files.aread(path)
    assert "too long" in (await files.aedit(path, "a", "b")).error
    assert "no folder" in (await files.als_info(path)).error


async def test_a_root_may_come_with_each_call():
    bucket = memory_bucket()
    root = "/t1/"
    files = ObjectBackend(bucket, lambda: root)
    await files.awrite("/a.md", "one")
    root = "/t10/"
    assert "no file" in await files.aread("/a.md")
    root = "t1"
    assert await files.aread("/a.md") == "     1\tone"
    root = ""
    with pytest.raises(InvalidRequestError, match="gcs_root_path"):
        await files.aread("/a.md")
