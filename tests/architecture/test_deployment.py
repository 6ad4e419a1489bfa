"""What `deploy/` says is true of the program: linters know the form of such files, and these tests know what is in Stepwell."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stepwell.addresses import DEFAULT_PORT
from stepwell.cli import main
from stepwell.server.routes.system import router
from stepwell.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
IMAGE = "stepwell:local"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
TOOLS = Path(sys.executable).parent


def text_of(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def committed_texts() -> list[str]:
    """Of all files but the operator's own `.env`."""
    return [path.read_text(encoding="utf-8") for path in DEPLOY.rglob("*") if path.is_file() and path.name != ".env"]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load(text_of("compose.yaml"))


@pytest.fixture(scope="module")
def own_services(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: service for name, service in compose["services"].items() if service["image"] == IMAGE}


@pytest.fixture(scope="module")
def resources() -> dict[tuple[str, str], dict[str, Any]]:
    """What the manifests hold, by kind and name."""
    found = [each for path in MANIFESTS for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


@pytest.fixture(scope="module")
def deployments(resources: dict[tuple[str, str], dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: each["spec"]["template"]["spec"] for (kind, name), each in resources.items() if kind == "Deployment"}


def seconds(text: str) -> int:
    value, unit = re.fullmatch(r"(\d+)(s|m)", text).groups()
    return int(value) * {"s": 1, "m": 60}[unit]


def patience_of(variables: dict[str, str]) -> int:
    """How long a process that stops may take."""
    return int(variables["STEPWELL_DRAIN_SECONDS"]) + int(variables["STEPWELL_NOTICE_SECONDS"])


# Their own linters


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["check-jsonschema", "--builtin-schema", "vendor.compose-spec", "deploy/compose.yaml"], id="compose"),
        pytest.param(["hadolint", "deploy/Dockerfile"], id="Dockerfile"),
        pytest.param(["kubernetes-validate", "--strict", *map(str, MANIFESTS)], id="kubernetes"),
        pytest.param(["yamllint", "--strict", "--config-file", "deploy/yamllint.yaml", "deploy"], id="yaml"),
    ],
)
def test_the_linter_has_nothing_to_say(command: list[str]):
    done = subprocess.run([TOOLS / command[0], *command[1:]], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


# What is in the program


def test_every_setting_is_one_that_stepwell_reads():
    known = set(re.findall(r'"(STEPWELL_\w+)"', (ROOT / "src/stepwell/settings.py").read_text(encoding="utf-8")))
    used = {name for text in committed_texts() for name in re.findall(r"STEPWELL_\w+", text)}
    assert {"STEPWELL_DATABASE_URL", "STEPWELL_DRAIN_SECONDS"} <= used
    assert used - known - {"STEPWELL_MODEL"} == set()
    assert Settings.load({"STEPWELL_MODEL": "a:b"}).model == "a:b"


def commands(own_services: dict[str, dict[str, Any]], deployments: dict[str, dict[str, Any]]) -> Iterator[list[str]]:
    for service in own_services.values():
        yield service["command"]
    for deployment in deployments.values():
        yield from (container["args"] for container in deployment["containers"])
    yield re.findall(r'"([^"]+)"', re.search(r"^CMD (.*)$", text_of("Dockerfile"), re.MULTILINE)[1])
    yield from (line.split() for line in re.findall(r"run --rm api-1 (.*)$", text_of("compose.yaml"), re.MULTILINE))


def test_every_command_is_one_that_stepwell_has(own_services: dict, deployments: dict, capsys: pytest.CaptureFixture[str]):
    given = list(commands(own_services, deployments))
    assert {command[0] for command in given} == {"serve", "worker", "keys"}
    for command in given:
        # A wrong option would leave through SystemExit; this leaves with a sentence about the address that nobody can use.
        assert main([*command, "--database-url", "nowhere"]) == 2
        assert "postgresql://" in capsys.readouterr().err


def test_every_probe_asks_for_what_the_server_answers(own_services: dict, deployments: dict):
    asked = re.findall(r"http://127\.0\.0\.1:\d+(/[^'\"\s]*)", text_of("compose.yaml"))
    for deployment in deployments.values():
        for container in deployment["containers"]:
            asked += [container[probe]["httpGet"]["path"] for probe in container if probe.endswith("Probe")]
    assert sorted(asked) == ["/ok"] * 5 + ["/ready"] * 4
    assert set(asked) <= {route.path for route in router.routes}
    for command in (
        *(each["command"] for each in own_services.values()),
        *(each["containers"][0]["args"] for each in deployments.values()),
    ):
        assert command[0] == "serve" or "9100" in command, "a worker that is asked for its health answers at a port"


def test_all_agree_on_the_ports(compose: dict, deployments: dict):
    assert f"EXPOSE {DEFAULT_PORT}\n" in text_of("Dockerfile")
    behind = re.findall(r"^\s*server (\S+):(\d+) ", text_of("nginx.conf"), re.MULTILINE)
    assert [name for name, _ in behind] == [name for name in compose["services"] if name.startswith("api")]
    assert {int(port) for _, port in behind} == {DEFAULT_PORT}
    listening = re.search(r"listen (\d+);", text_of("nginx.conf"))[1]
    assert compose["services"]["nginx"]["ports"] == [f"127.0.0.1:{listening}:{listening}"]
    assert deployments["stepwell-api"]["containers"][0]["ports"] == [{"name": "http", "containerPort": DEFAULT_PORT}]


def test_the_image_is_built_of_extras_and_a_python_that_there_are():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = re.search(r"ARG EXTRAS=(\S+)", text_of("Dockerfile"))[1].split(",")
    assert set(extras) <= project["optional-dependencies"].keys()
    assert {"server", "postgres"} <= set(extras)
    for version in re.findall(r"python:(\d+\.\d+)\.\d+-", text_of("Dockerfile")):
        assert f"Programming Language :: Python :: {version}" in project["classifiers"]


def test_images_of_others_are_named_by_an_exact_version(compose: dict[str, Any]):
    """A tag that moves gives another image tomorrow."""
    named = [service["image"] for service in compose["services"].values() if service["image"] != IMAGE]
    built_on = re.findall(r"^ARG PYTHON_IMAGE=(\S+)$", text_of("Dockerfile"), re.MULTILINE)
    assert built_on
    assert set(re.findall(r"^FROM (\S+)", text_of("Dockerfile"), re.MULTILINE)) == {"${PYTHON_IMAGE}"}
    for image in (*named, *built_on):
        assert re.fullmatch(r"[a-z]+:\d+\.\d+(\.\d+)?(-[a-z-]+)?(@sha256:[0-9a-f]{64})?", image), image
        assert image in text_of("README.md")


def test_what_the_image_is_built_from_reaches_the_builder():
    let_in = re.findall(r"^!(\S+)$", text_of("Dockerfile.dockerignore"), re.MULTILINE)
    assert all((ROOT / name).exists() for name in let_in)
    assert {
        "src",
        "web",
        "scripts/build-page",
        "pyproject.toml",
        "requirements.lock",
        "README.md",
        "LICENSE",
        "THIRD_PARTY_LICENSES",
    } <= set(let_in)


def test_nobody_is_killed_while_runs_may_still_finish(own_services: dict, deployments: dict, resources: dict):
    for service in own_services.values():
        assert seconds(service["stop_grace_period"]) > patience_of(service["environment"])
    for deployment in deployments.values():
        assert deployment["terminationGracePeriodSeconds"] > patience_of(resources["ConfigMap", "stepwell"]["data"])


def test_servers_and_workers_are_told_the_same(own_services: dict, deployments: dict):
    """A run is driven with the settings of whichever worker gets it."""
    told = [
        {key: value for key, value in each["environment"].items() if key.startswith("STEPWELL_")}
        for each in own_services.values()
    ]
    assert len(told) == 5
    assert all(each == told[0] for each in told)
    sources = [deployment["containers"][0]["envFrom"] for deployment in deployments.values()]
    assert sources[0] == sources[1]


def test_no_secret_is_written_down():
    secret = re.compile(r"^[ #-]*(\w*(?:PASSWORD|_KEY|_SECRET|_SEED))[=:] *(?!\$\{)(\S.*)$", re.MULTILINE)
    found = [match for text in committed_texts() for match in secret.findall(text)]
    assert [name for name, value in found if value != '""'] == []
    assert secret.findall("  - POSTGRES_PASSWORD: hunter2") == [("POSTGRES_PASSWORD", "hunter2")]


def test_the_manifests_find_one_another(resources: dict):
    labels = {
        name: each["spec"]["template"]["metadata"]["labels"] for (kind, name), each in resources.items() if kind == "Deployment"
    }
    for (kind, name), each in resources.items():
        spec = each.get("spec", {})
        if kind == "HorizontalPodAutoscaler":
            assert (spec["scaleTargetRef"]["kind"], spec["scaleTargetRef"]["name"]) in resources
        if kind == "PodDisruptionBudget":
            assert spec["selector"]["matchLabels"] == labels[name]
        if kind == "Service":
            assert spec["selector"] in labels.values()
        if kind == "Ingress":
            behind = spec["rules"][0]["http"]["paths"][0]["backend"]["service"]
            ports = resources["Service", behind["name"]]["spec"]["ports"]
            assert [port["name"] for port in ports] == [behind["port"]["name"]]
        if kind == "Deployment":
            pod = spec["template"]["spec"]
            named = [next(iter(source.values()))["name"] for source in pod["containers"][0]["envFrom"]]
            assert [("ConfigMap", named[0]), ("Secret", named[1])] == [
                key for key in resources if key[0] in ("ConfigMap", "Secret")
            ][::-1]
            claims = [
                volume["persistentVolumeClaim"]["claimName"] for volume in pod["volumes"] if "persistentVolumeClaim" in volume
            ]
            assert all(("PersistentVolumeClaim", claim) in resources for claim in claims)


def test_workers_are_scaled_by_figures_that_every_process_reports_for_all(resources: dict):
    """Each process reports the whole database: a sum would count every run once per process."""
    scaled = yaml.safe_load(text_of("keda/worker.yaml"))
    assert (scaled["apiVersion"], scaled["kind"]) == ("keda.sh/v1alpha1", "ScaledObject")
    worker = resources["Deployment", scaled["spec"]["scaleTargetRef"]["name"]]
    (trigger,) = scaled["spec"]["triggers"]
    asked = re.findall(r"(\w+)\((\w+)\{", trigger["metadata"]["query"])
    assert [function for function, _ in asked] == ["max", "max"]
    written = (ROOT / "src/stepwell/server/monitoring/metrics.py").read_text(encoding="utf-8")
    assert all(f'Gauge("{name}"' in written for _, name in asked)
    arguments = worker["spec"]["template"]["spec"]["containers"][0]["args"]
    most = int(arguments[arguments.index("--concurrency") + 1])
    assert int(trigger["metadata"]["threshold"]) < most, "before all workers are full, another one comes"
    by_cpu = resources["HorizontalPodAutoscaler", "stepwell-worker"]["spec"]
    assert (scaled["spec"]["minReplicaCount"], scaled["spec"]["maxReplicaCount"]) == (
        by_cpu["minReplicas"],
        by_cpu["maxReplicas"],
    )


UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_a_command_that_stepwell_has_and_waits_long_enough(unit: Path, capsys: pytest.CaptureFixture[str]):
    text = unit.read_text(encoding="utf-8")
    program, *command = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)[1].replace("%i", "1").split()
    assert program.endswith("/bin/stepwell")
    assert main([*command, "--database-url", "nowhere"]) == 2
    assert "postgresql://" in capsys.readouterr().err
    assert int(re.search(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)[1]) > 10, "longer than STEPWELL_DRAIN_SECONDS"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd_has_nothing_to_say_about_the_units(tmp_path: Path):
    """Only the program is another: it must exist for the check."""
    for unit in UNITS:
        text = unit.read_text(encoding="utf-8").replace("/opt/stepwell/bin/stepwell", "/bin/true")
        (tmp_path / unit.name.replace("@.", "@1.")).write_text(text, encoding="utf-8")
    files = sorted(map(str, tmp_path.iterdir()))
    done = subprocess.run(["systemd-analyze", "verify", *files], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_the_samples_for_tls_pass_events_on_as_they_come_and_believe_no_client():
    nginx, caddy = text_of("nginx-tls.conf"), text_of("Caddyfile")
    assert f"proxy_pass http://127.0.0.1:{DEFAULT_PORT};" in nginx
    assert f"reverse_proxy 127.0.0.1:{DEFAULT_PORT} " in caddy
    assert "proxy_buffering off;" in nginx
    assert "flush_interval -1" in caddy
    assert "X-Forwarded-For $remote_addr;" in nginx
    assert "X-Forwarded-For {remote_host}" in caddy
    for text in (nginx, caddy):
        assert "STEPWELL_TRUSTED_PROXIES=127.0.0.1" in text
