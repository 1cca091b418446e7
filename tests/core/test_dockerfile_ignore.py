"""Ignore files, and the files of a folder that a build sees."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster_core.dockerfile import DockerfileError, IgnoreRules, context_files, ignore_file


@pytest.mark.parametrize(
    ("rules", "ignored", "seen"),
    [
        ("", [], ["a", "a/b"]),
        ("*", ["a", "a/b", ".git"], []),
        ("*.py", ["a.py"], ["d/a.py", "a.pyc"]),
        ("**/*.py", ["a.py", "d/a.py", "d/e/a.py"], ["a.pyc"]),
        ("d/**", ["d/a", "d/e/f"], ["d", "e"]),
        ("**/d", ["d", "e/d", "e/d/x"], ["ed"]),
        ("/d/", ["d", "d/a"], ["e/d"]),
        ("./d/../e", ["e"], ["d"]),
        ("*\n!keep", ["a", "d/keep"], ["keep", "keep/inside"]),
        ("d\n!d/keep\nd/keep/not", ["d", "d/a", "d/keep/not"], ["d/keep", "d/keep/b"]),
        ("!a\na", ["a"], []),
        ("a?c", ["abc"], ["a/c", "ac"]),
        ("[a-c].x\n[^0-9].y", ["b.x", "z.y"], ["d.x", "5.y"]),
        ("[+--].z", ["+.z", "-.z"], ["..z"]),
        ("[--].z", ["-.z"], ["a.z"]),
        ("[[&|~].z", ["[.z", "&.z", "~.z"], ["a.z"]),
        ("a\\*b", ["a*b"], ["axb"]),
        ("# *\n\n  a  \n", ["a"], ["b"]),
        ("\ufeffa\r\nb\r\n", ["a", "b"], ["c"]),
        ("a.b+c(d)", ["a.b+c(d)"], ["axb+c(d)"]),
    ],
)
def test_patterns(rules: str, ignored: list[str], seen: list[str]) -> None:
    read = IgnoreRules.parse(rules)
    assert [path for path in [*ignored, *seen] if read.ignores(path)] == ignored


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("a\n!", "line 2: '!' without a pattern excepts nothing; write !<pattern>"),
        ("a\n\n[b", "line 3: the pattern '[b' is not understood: a [ is not closed"),
        ("[z-a]", "line 1: the pattern '[z-a]' is not understood: bad character range z-a at position 1"),
    ],
)
def test_refusals(rules: str, message: str) -> None:
    with pytest.raises(DockerfileError) as caught:
        IgnoreRules.parse(rules)
    assert str(caught.value) == message


@settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet="ab*?[]!\\/.-^#& \n"), st.text(alphabet="ab/.", min_size=1))
def test_nothing_crashes_it(rules: str, path: str) -> None:
    with contextlib.suppress(DockerfileError):
        read = IgnoreRules.parse(rules)
        assert read.ignores(path) or not read.prunes(path)


def test_a_folder_is_pruned_only_without_exceptions() -> None:
    assert IgnoreRules.parse("d").prunes("d")
    assert not IgnoreRules.parse("d\n!d/keep").prunes("d")
    assert not IgnoreRules.parse("d").prunes("e")


def test_the_files_that_a_build_sees(tmp_path: Path) -> None:
    for name in ("b.py", "a.txt", "data/big", "data/keep/small", "src/__pycache__/x", "src/x.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to("src")
    rules = IgnoreRules.parse("data\n!data/keep\n")
    assert list(context_files(tmp_path, rules, skip=lambda path: path.endswith("__pycache__"))) == [
        "a.txt",
        "b.py",
        "data/keep",
        "data/keep/small",
        "link",
        "src",
        "src/x.py",
    ]


def test_the_ignore_file_beside_the_dockerfile_comes_first(tmp_path: Path) -> None:
    assert ignore_file(tmp_path, "Dockerfile") is None
    (tmp_path / ".dockerignore").touch()
    assert ignore_file(tmp_path, "Dockerfile") == tmp_path / ".dockerignore"
    (tmp_path / "Dockerfile.dockerignore").touch()
    assert ignore_file(tmp_path, "Dockerfile") == tmp_path / "Dockerfile.dockerignore"
