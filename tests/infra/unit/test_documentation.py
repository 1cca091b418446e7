"""Every optional argument of a public class says its default; nothing public is undocumented."""

import dataclasses
import inspect
import re
import subprocess
import sys

import pytest

import muster_cdk

pytestmark = pytest.mark.unit

CLASSES = [getattr(muster_cdk, name) for name in muster_cdk.__all__]


def functions():
    for each in CLASSES:
        for name, member in inspect.getmembers(each):
            # A dataclass is made by its methods; its class says what its fields are.
            own = not name.startswith("_") or (name == "__init__" and not dataclasses.is_dataclass(each))
            function = inspect.unwrap(getattr(member, "__func__", member))
            if own and inspect.isfunction(function) and function.__module__.startswith("muster_cdk"):
                yield pytest.param(function, id=function.__qualname__)


def described(function):
    """Argument -> its description, out of the ``Args:`` block."""
    text = inspect.cleandoc(function.__doc__ or "")
    block = re.search(r"^Args:\n((?: {4,}.*\n?|\n)+)", text, flags=re.MULTILINE)
    if block is None:
        return {}
    entries = re.findall(r"^ {4}\*?(\w+): ((?:.|\n {5,})+)", block.group(1), flags=re.MULTILINE)
    return {name: " ".join(description.split()) for name, description in entries}


@pytest.mark.parametrize("function", list(functions()))
def test_every_optional_argument_says_its_default(function):
    texts = described(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if name in {"self", "cls"}:
            continue
        assert name in texts, name
        if parameter.default is not inspect.Parameter.empty:
            assert re.search(r"Default: .+\.", texts[name]), f"{name}: {texts[name]}"
        else:
            assert "Default:" not in texts[name], name


@pytest.mark.parametrize("function", list(functions()))
def test_optional_arguments_are_keyword_only_after_scope_and_id(function):
    for name, parameter in inspect.signature(function).parameters.items():
        if name != "id" and parameter.default is not inspect.Parameter.empty:
            assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, name


@pytest.mark.parametrize("each", CLASSES)
def test_every_public_class_and_property_is_documented(each):
    assert each.__doc__
    for name, member in vars(each).items():
        if isinstance(member, property) and not name.startswith("_"):
            assert member.fget.__doc__, name


def test_the_public_names_are_few():
    assert set(muster_cdk.__all__) == {
        *("Capacity", "HostOptions", "SharedFileSystem"),
        *("Accelerator", "InstanceType", "NetworkCard", "Nvme"),
        *(
            "EfaLaunchTemplate",
            "EfaSecurityGroup",
            "FairShare",
            "GpuCluster",
            "GpuComputeEnvironment",
            "Launcher",
        ),
        *("MultiNodeTrainingJob", "NetworkEndpoints", "TrainingImage", "TrainingNetwork", "TrainingQueue"),
        *("ArtifactBucket", "SubmitterRole", "TrainingMonitoring", "TrainingRepository"),
    }


def test_every_public_name_has_its_module():
    assert sorted(muster_cdk._HOMES) == muster_cdk.__all__
    assert set(muster_cdk.__all__) <= set(dir(muster_cdk))
    with pytest.raises(AttributeError, match=r"^module 'muster_cdk' has no attribute 'GpuClusters'$"):
        _ = muster_cdk.GpuClusters


def test_the_package_alone_is_light():
    # Of CDK it loads nothing: 50 ms beside `import aws_cdk` are more than it takes.
    program = "import sys, muster_cdk; print([name for name in sys.modules if name.startswith(('aws_cdk', 'jsii'))])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
