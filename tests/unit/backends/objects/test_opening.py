"""W7: a bucket from the environment; what is wrong with it is said without showing it."""

from __future__ import annotations

import json
import logging
import traceback

import pytest

from stepwell.backends.objects import ObjectBackend, Patience, open_bucket
from stepwell.errors import ConfigurationError
from stepwell.settings import Settings

KEY = json.dumps({"client_email": "a@b", "private_key": "MARKER", "private_key_id": "1"})


def test_without_a_bucket_there_is_none():
    assert open_bucket(Settings.load({"GOOGLE_CLOUD_CREDENTIALS_JSON": KEY, "AWS_ACCESS_KEY_ID": "x"})) is None


def test_the_variables_of_a_workspace_are_found_in_a_dotenv_file_too(tmp_path):
    """W7: `GCS_BUCKET_NAME` and `GOOGLE_CLOUD_CREDENTIALS_JSON`, with the JSON as people paste it."""
    dotenv = tmp_path / ".env"
    fields = {
        "client_email": "a@b",
        "private_key": "-----BEGIN\\nx=$y",
        "private_key_id": "1",
        "disable_oauth": True,
        "gcs_base_url": "http://h",
    }
    dotenv.write_text(f"GCS_BUCKET_NAME='files'\nGOOGLE_CLOUD_CREDENTIALS_JSON='{json.dumps(fields)}'\nANTHROPIC_API_KEY=k\n")
    settings = Settings.load({}, dotenv)
    assert json.loads(settings.buckets[0].options["service_account_key"].reveal())["client_email"] == "a@b"
    assert settings.access["anthropic"].key.reveal() == "k"
    assert open_bucket(settings).kind == "gcs"


@pytest.mark.parametrize(
    "credentials", ["MARKER", "{MARKER", '"MARKER"', "[]",
                    '{"client_email": "MARKER"}', '{"client_email": 1, "private_key": "MARKER"}', KEY]
)  # fmt: skip
def test_credentials_that_are_none_are_named_and_not_shown(credentials: str):
    with pytest.raises(ConfigurationError) as caught:
        open_bucket(Settings.load({"GCS_BUCKET_NAME": "files", "GOOGLE_CLOUD_CREDENTIALS_JSON": credentials}))
    assert "GOOGLE_CLOUD_CREDENTIALS_JSON" in str(caught.value)
    assert "MARKER" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("name", ["gs://files", "Files", "a", "files/x", "a b", "../files", "x" * 300])
def test_a_bucket_has_a_name(name: str):
    with pytest.raises(ConfigurationError, match="GCS_BUCKET_NAME"):
        open_bucket(Settings.load({"GCS_BUCKET_NAME": name}))


def test_two_buckets_are_one_too_many():
    with pytest.raises(ConfigurationError, match="GCS_BUCKET_NAME and S3_BUCKET_NAME"):
        open_bucket(Settings.load({"GCS_BUCKET_NAME": "files", "S3_BUCKET_NAME": "files"}))


def test_settings_do_not_show_credentials():
    settings = Settings.load(
        {"S3_BUCKET_NAME": "files", "AWS_SECRET_ACCESS_KEY": "MARKER", "AWS_ENDPOINT_URL": "http://u:MARKER@h"}
    )
    assert "MARKER" not in repr(settings)


def test_an_address_below_the_key_is_not_used(tmp_path):
    """A `.env` in somebody else's folder must not send signed requests to a server of its choice."""
    dotenv = tmp_path / ".env"
    dotenv.write_text("AWS_ENDPOINT_URL=http://elsewhere\nS3_BUCKET_NAME=files\nAWS_REGION=eu-west-1\n")
    above = Settings.load({"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}, dotenv)
    assert set(above.buckets[0].options) == {"access_key_id", "secret_access_key", "region"}
    beside = Settings.load({}, dotenv)
    assert "endpoint" in beside.buckets[0].options
    dotenv.write_text("AZURE_STORAGE_ENDPOINT=http://elsewhere\nAZURE_STORAGE_CONTAINER_NAME=files\n")
    for key in ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN"):
        assert "endpoint" not in Settings.load({key: "s"}, dotenv).buckets[0].options


async def test_a_store_that_is_not_there_is_a_result_that_leaks_nothing(caplog: pytest.LogCaptureFixture):
    settings = {"S3_BUCKET_NAME": "marker-bucket", "AWS_ACCESS_KEY_ID": "MARKERKEY", "AWS_SECRET_ACCESS_KEY": "MARKERSECRET",
                "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}  # fmt: skip
    bucket = open_bucket(Settings.load(settings), Patience(retries=0, first_pause_s=0.001, connect_s=0.5))
    files = ObjectBackend(bucket, "/t1/")
    with caplog.at_level(logging.DEBUG):
        answers = [await files.aread("/a.md"), (await files.als_info("/")).error, (await files.awrite("/a.md", "x")).error]
    for answer in answers:
        assert answer.startswith("Error: ")
        assert "could not be reached" in answer
        assert not any(word in answer.lower() for word in ("marker", "127.0.0.1", "t1"))
    assert "status none" in caplog.text
    assert "marker" not in caplog.text.lower()
