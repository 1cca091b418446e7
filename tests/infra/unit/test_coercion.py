"""Plain Python at the edge: what is taken, and the exact sentence for what is not."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2

from muster_cdk import coercion

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("value", ["p5.48xlarge", ec2.InstanceType("p5.48xlarge")])
def test_an_instance_type_is_taken_as_text_and_as_cdks(value):
    assert coercion.to_instance_name(value) == "p5.48xlarge"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("24h", 86400), ("90m", 5400), ("3600s", 3600), ("2d", 172800), ("1d2h3m4s", 93784), ("0s", 0)],
)
def test_a_duration_is_read(value, seconds):
    assert coercion.to_duration(value, "timeout").to_seconds() == seconds


def test_a_duration_of_cdk_stays_itself():
    duration = cdk.Duration.hours(1)
    assert coercion.to_duration(duration, "timeout") is duration


@pytest.mark.parametrize(
    ("value", "mebibytes"),
    [("200GiB", 204800), ("512 MiB", 512), ("2TiB", 2097152), (cdk.Size.gibibytes(3), 3072)],
)
def test_a_size_is_read(value, mebibytes):
    assert coercion.to_mebibytes(value, "memory") == mebibytes


def test_a_token_passes_as_a_count_where_it_may():
    token = cdk.Token.as_number({"Ref": "Count"})
    assert coercion.to_count(token, "nodes") == token
    with pytest.raises(ValueError, match=r"^max_nodes must be known at synth, got a token; give a number$"):
        coercion.to_count(token, "max_nodes", token=False)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: coercion.to_instance_name(["p5.48xlarge"]),
            (
                "instance_type must be a str such as 'p5.48xlarge' or an ec2.InstanceType, "
                "got list ['p5.48xlarge']; change it"
            ),
        ),
        (
            lambda: coercion.to_duration(86400, "timeout"),
            "timeout must be a Duration or a str such as '24h', got int 86400; change it",
        ),
        (
            lambda: coercion.to_mebibytes(200, "root_volume_size"),
            "root_volume_size must be a Size or a str such as '200GiB', got int 200; change it",
        ),
        (lambda: coercion.to_count("2", "nodes"), "nodes must be an int, got str '2'; change it"),
        (lambda: coercion.to_count(2.5, "nodes"), "nodes must be an int, got float 2.5; change it"),
        (lambda: coercion.to_count(True, "nodes"), "nodes must be an int, got bool True; change it"),
        (
            lambda: coercion.to_strings("/dev/x", "efa_devices"),
            "efa_devices must be a list of str, got str '/dev/x'; change it",
        ),
        (lambda: coercion.to_strings(["a", 5], "args"), "args[1] must be a str, got int 5; change it"),
        (
            lambda: coercion.to_variables(["A=1"]),
            "environment must be a dict of str to str, got list ['A=1']; change it",
        ),
        (
            lambda: coercion.to_variables({1: "a"}),
            "a name in environment must be a str, got int 1; change it",
        ),
        (
            lambda: coercion.to_variables({"N": 1}),
            "environment['N'] must be a str, got int 1; change it",
        ),
        (lambda: coercion.to_text(5, "interface_type"), "interface_type must be a str, got int 5; change it"),
    ],
)
def test_a_wrong_type_gets_a_sentence_that_names_the_argument(call, sentence):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == sentence


@pytest.mark.parametrize("text", ["", "24", "h", "1h1d", "-1h", "1.5h", "24 h", "24h\n", "\u0663h"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match=r"^timeout is no duration") as caught:
        coercion.to_duration(text, "timeout")
    assert str(caught.value) == (
        f"timeout is no duration, got {text!r}; allowed are days, hours, minutes and seconds in this order, "
        "such as '24h', '1d12h' or '90m'; correct it"
    )


@pytest.mark.parametrize("text", ["", "200", "200GB", "1.5GiB", "GiB", "-1GiB", "\u0663GiB"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ValueError, match=r"^memory is no size") as caught:
        coercion.to_mebibytes(text, "memory")
    assert str(caught.value) == (
        f"memory is no size, got {text!r}; allowed is a whole number of MiB, GiB or TiB, such as '200GiB'; correct it"
    )


def test_a_number_without_an_end_is_refused():
    with pytest.raises(ValueError, match=r"^timeout has") as caught:
        coercion.to_duration("1h" + "9" * 5000 + "s", "timeout")
    assert str(caught.value) == "timeout has a number of 5000 digits; at most 24 are read; correct it"
    with pytest.raises(ValueError, match=r"^memory has") as caught:
        coercion.to_mebibytes("9" * 25 + "TiB", "memory")
    assert str(caught.value) == "memory has a number of 25 digits; at most 24 are read; correct it"
    assert coercion.to_mebibytes("9" * 24 + "MiB", "memory") == 10**24 - 1


def test_variables_and_paths():
    assert coercion.to_variables(None) == {}
    assert coercion.to_variables({"A": "1"}) == {"A": "1"}
    assert coercion.to_text("x", "y") == "x"


TOKEN = cdk.Token.as_number({"Ref": "Count"})


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: coercion.to_instance_name(cdk.Token.as_string({"Ref": "Type"})),
            "instance_type must be known at synth, got a token; give a name such as 'p5.48xlarge'",
        ),
        (
            lambda: coercion.to_instance_name(ec2.InstanceType(cdk.Token.as_string({"Ref": "Type"}))),
            "instance_type must be known at synth, got a token; give a name such as 'p5.48xlarge'",
        ),
        (
            lambda: coercion.to_duration(cdk.Duration.millis(1500), "timeout"),
            "timeout must be in whole seconds, got 1.5 s; round it",
        ),
        (
            lambda: coercion.to_duration(cdk.Duration.minutes(TOKEN), "timeout"),
            "timeout is a token in another unit than seconds; use Duration.seconds",
        ),
        (
            lambda: coercion.to_mebibytes(cdk.Size.gibibytes(TOKEN), "memory"),
            "memory must be known at synth, got a token; give a size such as '200GiB'",
        ),
        (
            lambda: coercion.to_mebibytes(cdk.Size.mebibytes(TOKEN), "memory"),
            "memory must be known at synth, got a token; give a size such as '200GiB'",
        ),
        (
            lambda: coercion.to_mebibytes(cdk.Size.kibibytes(1500), "memory"),
            "memory must be in whole mebibytes, got 1.46484 MiB; round it",
        ),
    ],
)
def test_a_value_that_cannot_be_turned_gets_our_own_sentence(call, sentence):
    with pytest.raises(ValueError, match=r"^\w") as caught:
        call()
    assert str(caught.value) == sentence


def test_sizes_and_durations_in_smaller_units_are_taken_where_they_are_whole():
    assert coercion.to_mebibytes(cdk.Size.kibibytes(2048), "memory") == 2
    assert coercion.to_duration(cdk.Duration.millis(2000), "timeout").to_seconds() == 2
    assert coercion.to_duration(cdk.Duration.seconds(TOKEN), "timeout").to_seconds() == TOKEN
