"""The Dockerfile parser: what a build accepts, and the line of what it refuses."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster_core.dockerfile import Dockerfile, DockerfileError, Heredoc, Instruction, parse


def the(text: str) -> Instruction:
    """The only instruction after a FROM."""
    (instruction,) = parse(f"FROM base\n{text}").last.instructions
    return instruction


def summary(dockerfile: Dockerfile) -> list[tuple[str | None, str, list[str]]]:
    return [(stage.name, stage.base, [one.name for one in stage.instructions]) for stage in dockerfile.stages]


def test_stages_and_arguments_before_them() -> None:
    dockerfile = parse(
        "# syntax=docker/dockerfile:1\n"
        "ARG VERSION=3.11\n"
        "FROM --platform=$BUILDPLATFORM python:${VERSION} AS Build\n"
        "RUN make\n"
        "from scratch\n"
        "copy --from=build --chown=1:1 /a /b /c/\n"
    )
    assert dockerfile.syntax == "docker/dockerfile:1"
    assert dockerfile.arguments[0].pairs == (("VERSION", "3.11"),)
    assert summary(dockerfile) == [("build", "python:${VERSION}", ["RUN"]), (None, "scratch", ["COPY"])]
    assert dockerfile.stages[0].platform == "$BUILDPLATFORM"
    copy = dockerfile.last.instructions[0]
    assert (copy.flags, copy.args) == ((("from", "build"), ("chown", "1:1")), ("/a", "/b", "/c/"))
    assert (copy.flag("from"), copy.flag("link"), copy.line) == ("build", None, 6)


def test_a_stage_is_found_by_name_or_index() -> None:
    dockerfile = parse("FROM a AS one\nFROM b AS two\nFROM c\n")
    assert [dockerfile.stage(name) for name in ("ONE", "2", "3", "three")] == [
        dockerfile.stages[0],
        dockerfile.stages[2],
        None,
        None,
    ]
    assert dockerfile.stage("two", before=1) is None


@pytest.mark.parametrize(
    ("text", "args", "exec_form"),
    [
        ('CMD ["python", "train.py"]', ("python", "train.py"), True),
        ("CMD python train.py  --x", ("python train.py  --x",), False),
        ("CMD ['python']", ("['python']",), False),
        ("ENTRYPOINT []", (), True),
        ("ENTRYPOINT", (), False),
        ("CMD [ not json", ("[ not json",), False),
        ('COPY ["a b", "c/"]', ("a b", "c/"), True),
        ("COPY   a  b   c/ ", ("a", "b", "c/"), False),
        ("EXPOSE 80 443/tcp", ("80", "443/tcp"), False),
        ('SHELL ["/bin/bash", "-c"]', ("/bin/bash", "-c"), True),
        ("USER nobody", ("nobody",), False),
        ("WORKDIR /a b", ("/a b",), False),
        ("ONBUILD RUN x", ("RUN x",), False),
        ("VOLUME /a /b", ("/a", "/b"), False),
        ("RUN --mount=type=cache,target=/x pip install y", ("pip install y",), False),
        ("RUN -- x", ("x",), False),
    ],
)
def test_forms(text: str, args: tuple[str, ...], exec_form: bool) -> None:
    instruction = the(text)
    assert (instruction.args, instruction.exec_form) == (args, exec_form)


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("ENV A=1 B=two", (("A", "1"), ("B", "two"))),
        ('ENV A="one two" B=a\\ b', (("A", '"one two"'), ("B", "a\\ b"))),
        ("ENV A one two=3", (("A", "one two=3"),)),
        ("ENV A=", (("A", ""),)),
        ("ENV A='x y'=z", (("A", "'x y'=z"),)),
        ("ARG A B=1", (("A", None), ("B", "1"))),
        ('LABEL a="b c"', (("a", '"b c"'),)),
    ],
)
def test_pairs(text: str, pairs: tuple[tuple[str, str | None], ...]) -> None:
    assert the(text).pairs == pairs


def test_continuations_pass_over_comments_and_empty_lines() -> None:
    instruction = the("RUN one \\\n  # a comment \\\n\n   two \\  \n three\n# after")
    assert instruction.text == "one    two  three"
    assert (instruction.line, instruction.last_line) == (2, 6)


def test_an_escaped_backslash_continues_nothing() -> None:
    assert the("RUN echo \\\\\n").text == "echo \\\\"


def test_the_escape_directive_changes_the_continuation() -> None:
    dockerfile = parse("# escape=`\nFROM a\nRUN dir C:\\\nRUN one `\n two\n")
    assert dockerfile.escape == "`"
    assert [one.text for one in dockerfile.last.instructions] == ["dir C:\\", "one  two"]


def test_a_directive_after_a_comment_is_a_comment() -> None:
    assert parse("# hello\n# escape=`\nFROM a\n").escape == "\\"
    assert parse("\n# escape=`\nFROM a\n").escape == "\\"


def test_carriage_returns_and_a_byte_order_mark_are_taken_off() -> None:
    dockerfile = parse("\ufeffFROM a\r\nRUN one \\\r\n two\r\n")
    assert dockerfile.last.instructions[0].text == "one  two"


def test_heredocs() -> None:
    dockerfile = parse(
        "FROM a\nCOPY <<EOF <<-'RAW' /to/\none $A\n# kept \\\nEOF\n\t\traw $B\n\tRAW\nRUN 3<<X cat\nX\nUSER me\n"
    )
    copy, run, user = dockerfile.last.instructions
    assert copy.heredocs == (
        Heredoc("EOF", "one $A\n# kept \\\n", expand=True),
        Heredoc("RAW", "raw $B\n", expand=False),
    )
    assert (copy.line, copy.last_line) == (2, 7)
    assert run.heredocs == (Heredoc("X", "", expand=True),)
    assert user.line == 10


@pytest.mark.parametrize(
    "text", ["RUN cat <<< x", "CMD cat <<EOF", 'RUN ["<<EOF"]', "RUN a << b", "RUN a '<<b'"]
)
def test_what_is_no_heredoc(text: str) -> None:
    assert the(text).heredocs == ()


def test_a_heredoc_of_onbuild() -> None:
    assert the("ONBUILD COPY <<E /x\ntext\nE").heredocs == (Heredoc("E", "text\n", expand=True),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: there is no FROM, so the file makes no image; begin it with FROM <image>"),
        (
            "# only a comment",
            "line 1: there is no FROM, so the file makes no image; begin it with FROM <image>",
        ),
        ("RUN x", "line 1: RUN stands before the first FROM; only ARG may"),
        ("FROM a\n\nFOO bar", "line 3: 'FOO' is no instruction of a Dockerfile"),
        ("FROM a b", "line 1: FROM takes <image> or <image> AS <name>, got 'a b'"),
        (
            "FROM a AS 1x",
            "line 1: the name of a stage is a letter, then letters, digits or any of _ . -, got '1x'",
        ),
        ("FROM", "line 1: FROM needs at least one argument"),
        ("FROM a\nCOPY x", "line 2: COPY needs a source and a destination, got 'x'"),
        ("FROM a\nCOPY --=x a b", "line 2: '--=x' is no flag"),
        ("FROM a\nENV A", "line 2: ENV takes NAME=value, got 'A'"),
        ("FROM a\nENV A=1 B", "line 2: ENV takes NAME=value, got 'B'; quote a value with spaces"),
        ("FROM a\nARG =x", "line 2: ARG takes NAME or NAME=default, got '=x'"),
        ("FROM a\nCMD [1]", "line 2: a JSON list may hold strings only, got '[1]'"),
        ("FROM a\nSHELL bash", 'line 2: SHELL takes a JSON list such as ["/bin/bash", "-c"], got \'bash\''),
        ("# escape=x\nFROM a", "line 1: escape must be a backslash or a backtick, got 'x'"),
        ("# escape=`\n# escape=`\nFROM a", "line 2: the directive 'escape' stands twice"),
        (
            "FROM a\nRUN x \\\n  y \\\n# end\n",
            (
                "line 3: the file ends in an open continuation (\\) of the instruction in line 2; "
                "remove the character at the end of the line"
            ),
        ),
        (
            "FROM a\nRUN <<EOF\nx\n",
            "line 2: the heredoc 'EOF' is open at the end of the file; end it by a line 'EOF'",
        ),
    ],
)
def test_refusals_name_the_line(text: str, message: str) -> None:
    with pytest.raises(DockerfileError) as caught:
        parse(text)
    assert str(caught.value) == message


def test_an_error_carries_line_and_reason() -> None:
    with pytest.raises(DockerfileError) as caught:
        parse("FROM a\nFOO\n")
    assert (caught.value.line, caught.value.reason) == (2, "'FOO' is no instruction of a Dockerfile")


def test_a_list_too_deep_for_json_is_the_shell_form() -> None:
    assert not the("CMD " + "[" * 100_000).exec_form


PIECES = st.sampled_from(
    [
        *(
            "FROM a",
            " AS b",
            "COPY --from=x ",
            "RUN ",
            "ENV ",
            "ARG A",
            "=",
            "$",
            "{",
            "}",
            "<<EOF",
            "EOF",
            "\\",
            "`",
        ),
        *(
            "\n",
            "\r\n",
            " ",
            "\t",
            '"',
            "'",
            "[",
            "]",
            "#",
            "# escape=`",
            "ONBUILD ",
            "--",
            ",",
            "\ufeff",
            "\x0b",
            "²",
        ),
    ]
)


@settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join)))
def test_nothing_crashes_it(text: str) -> None:
    try:
        dockerfile = parse(text)
    except DockerfileError as caught:
        error = caught
    else:
        lines = [one.line for stage in dockerfile.stages for one in stage.instructions]
        assert lines == sorted(set(lines))
        return
    assert 1 <= error.line <= text.count("\n") + 1
