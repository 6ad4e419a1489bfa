"""Which models a caller may use."""

import pytest

from stepwell.connections.offers import make_offers
from stepwell.connections.tables import Ref
from stepwell.settings import Settings

FILE = "/models/own.gguf"
LISTED = Ref("local", "smollm2-135m")


@pytest.mark.parametrize("allowed", [None, ("local:*",)])
@pytest.mark.parametrize("asks_who", [True, False])
@pytest.mark.parametrize("connection", ["local", "env:local"])
def test_a_file_of_the_server_is_no_model(connection, asks_who, allowed):
    settings = Settings.load({"STEPWELL_LOCAL_MODEL": "smollm2-135m"})
    offers = make_offers("ben", settings, [], mine={}, everyones={"write": LISTED}, allowed=allowed, asks_who=asks_who)
    assert offers.why_not(LISTED) is None
    assert "is not offered" in str(offers.why_not(Ref(connection, FILE)))


def test_a_file_that_the_operator_chose_for_everyone_is_one():
    settings = Settings.load({"STEPWELL_LOCAL_MODEL": FILE})
    chosen = Ref("local", "/models/other.gguf")
    offers = make_offers("ben", settings, [], mine={}, everyones={"default": chosen}, allowed=None, asks_who=True)
    assert offers.why_not(chosen) is None
    assert offers.why_not(Ref("env:local", FILE)) is None
