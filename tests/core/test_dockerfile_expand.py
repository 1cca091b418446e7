"""Variables in a Dockerfile's words."""

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster_core.dockerfile import DockerfileError, expand

VALUES = {"A": "one", "EMPTY": "", "LONG_2": "x"}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("plain", "plain"),
        ("$A/$LONG_2$", "one/x$"),
        ("${A}b$Ab", "oneb"),
        ("$MISSING.", "."),
        ("${MISSING:-word}", "word"),
        ("${EMPTY:-$A}", "one"),
        ("${EMPTY-word}", ""),
        ("${MISSING-word}", "word"),
        ("${A:+yes}${EMPTY:+no}${EMPTY+yes}", "yesyes"),
        ("${A:?needed}", "one"),
        ("${MISSING:-${A:-x}}", "one"),
        ("${MISSING:-a\\}b}", "a}b"),
        ("'$A'", "$A"),
        ("\"$A '$A'\"", "one 'one'"),
        ("\\$A", "$A"),
        ('"a\\"b\\n"', 'a"b\\n'),
        ("a\\ b", "a b"),
        ("$1", "$1"),
        ("end\\", "end"),
    ],
)
def test_expansion(text: str, result: str) -> None:
    assert expand(text, VALUES, line=1) == result


def test_a_heredoc_keeps_its_quotes() -> None:
    assert expand("\"$A\" '$A' \\$A \\n", VALUES, line=1, quotes=False) == "\"one\" 'one' $A \\n"


def test_the_escape_character_is_the_files_own() -> None:
    assert expand("C:\\$A `$A", VALUES, line=1, escape="`") == "C:\\one $A"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("'open", "line 3: a single quote (') is open in \"'open\""),
        ('"open', "line 3: a double quote (\") is open in '\"open'"),
        ("${A", "line 3: a brace is open in '${A'"),
        ("${A##x}", "line 3: '${A##x}' is not understood; ${NAME}, and ${NAME:-word} with -, + or ? are"),
        ("${}", "line 3: '${}' is not understood; ${NAME}, and ${NAME:-word} with -, + or ? are"),
        ("${MISSING:?say it}", "line 3: MISSING must be set: say it"),
        ("${EMPTY:?}", "line 3: EMPTY must be set: it has no value"),
        ("${B:-" * 30 + "}" * 30, "line 3: variables are nested deeper than 20 levels"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(DockerfileError) as caught:
        expand(text, VALUES, line=3)
    assert str(caught.value) == message


@settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from(["$", "{", "}", "A", ":-", "?", "+", "'", '"', "\\", "x", " ", "²"])).map(
        "".join
    )
)
def test_nothing_crashes_it(text: str) -> None:
    with contextlib.suppress(DockerfileError):
        assert isinstance(expand(text, VALUES, line=1), str)
