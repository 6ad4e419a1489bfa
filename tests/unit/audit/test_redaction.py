"""Keys and cookies stay out of what is written down."""

from __future__ import annotations

import pytest

from stepwell.audit.redaction import without_secret_headers


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        ({"Set-Cookie": "id=1", "content-type": "text/html"}, {"content-type": "text/html"}),
        ([["Set-Cookie", "id=1"], ["content-type", "text/html"], ["set-cookie", "b=2"]], [["content-type", "text/html"]]),
        (None, None),
    ],
)
def test_a_cookie_that_was_set_is_not_kept(headers: object, kept: object):
    assert without_secret_headers({"status": 200, "headers": headers}) == {"status": 200, "headers": kept}
