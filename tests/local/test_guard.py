"""The guard: nothing that is started by the local cloud can meet a real account."""

import os
import subprocess
import sys
from pathlib import Path

import boto3
import pytest

from muster_cli.local import guard
from muster_cli.local.guard import client_environment, guarded_environment
from muster_cli.local.settings import ACCOUNT, STATE_VARIABLE
from muster_cli.local.state import StateFolder

ENDPOINT = "http://127.0.0.1:40123"
CALLER = {
    "PATH": "/usr/bin",
    "LANG": "C.UTF-8",
    "AWS_PROFILE": "production",
    "AWS_ACCESS_KEY_ID": "AKIAREAL",
    "AWS_SESSION_TOKEN": "real",
    "AWS_CA_BUNDLE": "/real",
    "AWS_ENDPOINT_URL_BATCH": "https://real",
    "CDK_DEFAULT_ACCOUNT": "999999999999",
    "CDK_OUTDIR": "elsewhere",
    "JSII_NODE": "/elsewhere/node",
    "NODE_OPTIONS": "--inspect",
    "PYTHONDONTWRITEBYTECODE": "1",
    "XDG_CACHE_HOME": "/elsewhere",
}


@pytest.fixture
def state(tmp_path) -> StateFolder:
    return StateFolder(tmp_path / "local")


@pytest.fixture
def environment(state) -> dict[str, str]:
    return guarded_environment(ENDPOINT, state, CALLER)


def test_nothing_of_the_callers_account_is_left(environment):
    real = {"production", "AKIAREAL", "real", "/real", "https://real", "999999999999", "elsewhere"}
    assert not real & set(environment.values())
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_CA_BUNDLE", "AWS_ENDPOINT_URL_BATCH", "CDK_OUTDIR"):
        assert name not in environment


def test_the_endpoint_and_dummy_credentials_are_set(environment):
    assert environment["AWS_ENDPOINT_URL"] == ENDPOINT
    assert environment["AWS_ENDPOINT_URL_S3_FOR_CLOUDFORMATION"] == "http://localhost:40123"
    assert environment["AWS_ACCESS_KEY_ID"] == environment["AWS_SECRET_ACCESS_KEY"] == "muster-local"
    assert environment["AWS_REGION"] == environment["AWS_DEFAULT_REGION"] == "us-east-1"
    assert environment["CDK_DEFAULT_ACCOUNT"] == ACCOUNT
    assert environment["CDK_DEFAULT_REGION"] == "us-east-1"


def test_configuration_metadata_and_telemetry_are_off(environment):
    assert not Path(environment["AWS_CONFIG_FILE"]).exists()
    assert not Path(environment["AWS_SHARED_CREDENTIALS_FILE"]).exists()
    assert environment["AWS_EC2_METADATA_DISABLED"] == "true"
    assert environment["CDK_DISABLE_CLI_TELEMETRY"] == "true"
    assert environment["CDK_VALIDATION"] == "false"
    assert environment["CI"] == environment["NODE_NO_WARNINGS"] == "1"
    assert environment["NO_PROXY"] == environment["no_proxy"] == "127.0.0.1,localhost"


def test_what_slows_or_disturbs_children_is_gone(environment):
    for name in ("PYTHONDONTWRITEBYTECODE", "NODE_OPTIONS", "XDG_CACHE_HOME"):
        assert name not in environment
    assert environment["LANG"] == "C.UTF-8"


def test_files_are_written_below_the_state_folder(environment, state):
    for name in ("HOME", "TMPDIR", "CDK_HOME", "JSII_RUNTIME_PACKAGE_CACHE_ROOT", STATE_VARIABLE):
        assert Path(environment[name]).is_relative_to(state.root)


def test_this_environments_programs_come_first(environment):
    folders = environment["PATH"].split(os.pathsep)
    assert folders[0] == str(Path(sys.executable).parent)
    assert folders[-1] == "/usr/bin"
    assert environment["CDK_DOCKER"] == str(Path(sys.executable).parent / "muster-local-docker")


@pytest.mark.parametrize("installed", [True, False])
def test_the_cdk_of_the_checkout_that_holds_the_folder_comes_behind_it(tmp_path, installed):
    programs = tmp_path / "node_modules" / ".bin"
    (tmp_path / "cdk.json").touch()
    if installed:
        programs.mkdir(parents=True)
    environment = guarded_environment(ENDPOINT, StateFolder(tmp_path / ".muster" / "local"), CALLER)
    folders = environment["PATH"].split(os.pathsep)
    assert folders[0] == str(Path(sys.executable).parent)
    assert folders[-1] == "/usr/bin"
    assert (folders[-2] == str(programs)) is installed


def test_node_of_the_wheel_is_used(environment):
    version = subprocess.run(
        [environment["JSII_NODE"], "--version"], capture_output=True, text=True, check=True
    )
    assert version.stdout.startswith("v")


def test_without_the_wheel_node_is_found_by_path(monkeypatch, state):
    monkeypatch.setattr(guard, "_node", lambda: None)
    environment = guarded_environment(ENDPOINT, state, CALLER)
    assert "JSII_NODE" not in environment
    assert environment["PATH"].split(os.pathsep) == [str(Path(sys.executable).parent), "/usr/bin"]


@pytest.mark.parametrize("origin", [None, "missing"])
def test_a_wheel_without_node_counts_as_none(monkeypatch, tmp_path, origin):
    spec = type("Spec", (), {"origin": origin and str(tmp_path / "__init__.py")})
    monkeypatch.setattr(guard.importlib.util, "find_spec", lambda _name: spec)
    assert guard._node() is None


def test_the_callers_environment_is_the_default(monkeypatch, state):
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("MUSTER_TEST_WORD", "kept")
    environment = guarded_environment(ENDPOINT, state)
    assert "AWS_PROFILE" not in environment
    assert environment["MUSTER_TEST_WORD"] == "kept"


def test_the_clients_part_alone():
    assert set(client_environment(ENDPOINT)) == {
        "AWS_ENDPOINT_URL",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_EC2_METADATA_DISABLED",
    }


def test_boto3_goes_nowhere_else(monkeypatch, environment):
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    session = boto3.Session()
    for service in ("batch", "cloudformation", "ecr", "s3", "sts"):
        assert session.client(service).meta.endpoint_url == ENDPOINT
    assert session.available_profiles == []
    credentials = session.get_credentials()
    assert (credentials.access_key, credentials.token) == ("muster-local", None)
