"""Rules about the hosts of an environment, as tables: what is given -> the exact sentence."""

from __future__ import annotations

import pytest

from muster_core.instances import lookup
from muster_core.rules import Problem, compute

TOKEN_NUMBER = -1.8881545897087827e289
TOKEN_TEXT = "${Token[TOKEN.42]}"
AMI = "ami-0123456789abcdef0"


@pytest.mark.parametrize(
    ("value", "limit"),
    [(None, 4), (0, 4), (4, 4), (2.0, 4), (1000, 1000), (TOKEN_NUMBER, 4), (3, TOKEN_NUMBER), (3, 0)],
)
def test_hosts_that_may_be_up(value: float | None, limit: float) -> None:
    assert compute.min_nodes(value, limit) == []


@pytest.mark.parametrize(("value", "limit"), [(5, 4), (-1, 4), (1.5, 4), (-1, TOKEN_NUMBER)])
def test_hosts_that_may_not(value: float, limit: float) -> None:
    assert compute.min_nodes(value, limit) == [
        Problem(
            "compute.min_nodes",
            f"min_nodes must be a whole number from 0 to max_nodes, got {value!r} with max_nodes {limit!r}; lower "
            "min_nodes or raise max_nodes",
        )
    ]


def test_hosts_that_cost_without_a_job() -> None:
    assert compute.min_nodes(0, 4, acknowledged=False) == []
    assert compute.min_nodes(2, 4, acknowledged=False) == [
        Problem(
            "compute.idle_cost",
            "min_nodes keeps hosts that are paid for without any job, got 2; an idle cluster has 0; leave min_nodes out, "
            "or say acknowledge_idle_cost=True beside it",
        )
    ]


@pytest.mark.parametrize("minutes", [None, 20, 10080, 60.0, TOKEN_NUMBER])
def test_delays(minutes: float | None) -> None:
    assert compute.scale_down_delay(minutes) == []


@pytest.mark.parametrize(
    ("minutes", "said"), [(19, "19"), (10081, "10081"), (0, "0"), (20.5, "20.5"), (-20, "-20")]
)
def test_delays_that_batch_refuses(minutes: float, said: str) -> None:
    assert compute.scale_down_delay(minutes) == [
        Problem(
            "compute.scale_down_delay",
            f"scale_down_delay must be a whole number of minutes from 20 to 10080, got {said} minutes; AWS Batch keeps idle "
            "hosts that long or not at all; change it, or leave it out",
        )
    ]


@pytest.mark.parametrize(
    ("image_id", "parameter"),
    [
        (None, None),
        (AMI, None),
        ("ami-01234567", None),
        (TOKEN_TEXT, None),
        (None, "/images/training:3"),
        (None, "training:12"),
        (
            None,
            "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/al2023-ami-ecs-2023.0.20260801/image_id",
        ),
        (None, TOKEN_TEXT),
    ],
)
def test_images_that_are_pinned(image_id: str | None, parameter: str | None) -> None:
    assert compute.image(image_id, parameter) == []


@pytest.mark.parametrize("value", ["ami-1", "AMI-01234567", "my-image", "ami-0123456789ABCDEF0", ""])
def test_what_is_no_id_of_an_image(value: str) -> None:
    assert compute.image(value, None) == [
        Problem(
            "compute.image_id",
            f"image_id is not the id of a machine image, got {value!r}; an id is such as 'ami-0123456789abcdef0'; correct "
            "it, or name a parameter by image_parameter",
        )
    ]


@pytest.mark.parametrize(
    "name", ["/images/training", "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id"]
)
def test_parameters_that_float(name: str) -> None:
    assert compute.image(None, name) == [
        Problem(
            "compute.image_parameter",
            f"image_parameter has no version, got {name!r}; the image would change under the cluster; add the version "
            f"such as '{name}:3', or take a public parameter that holds a release in its name",
        )
    ]


@pytest.mark.parametrize("name", ["", "/a b:1", "a:0", "a:x", "{{resolve:ssm:a:1}}"])
def test_what_is_no_name_of_a_parameter(name: str) -> None:
    assert compute.image(None, name) == [
        Problem(
            "compute.image_parameter",
            f"image_parameter is not the name of an SSM parameter, got {name!r}; allowed is a name with its version such "
            "as '/images/training:3'; correct it",
        )
    ]


def test_two_images() -> None:
    assert compute.image(AMI, "/a:1") == [
        Problem(
            "compute.image_once",
            f"image_parameter and image_id both name the machine image, got '/a:1' and {AMI!r}; hosts have one image; "
            "remove one of the two",
        )
    ]


@pytest.mark.parametrize("mode", [None, "ENABLED", "ENHANCED", "DISABLED", TOKEN_TEXT])
def test_modes_of_container_insights(mode: str | None) -> None:
    assert compute.container_insights(mode) == []


def test_another_mode() -> None:
    assert compute.container_insights("ON") == [
        Problem(
            "compute.container_insights",
            "container_insights is no mode of ECS, got 'ON'; allowed: ENABLED, ENHANCED, DISABLED; change it",
        )
    ]


def test_types_that_share_an_environment() -> None:
    assert compute.overrides("p5.48xlarge", ["p4d.24xlarge", "p5en.48xlarge"]) == []
    assert compute.overrides("p5.48xlarge", ["p5.48xlarge"]) == [
        Problem(
            "compute.types_twice",
            "other_types names the environment's own instance type, got 'p5.48xlarge'; its launch template is "
            "launch_template; remove it",
        )
    ]
    assert compute.overrides("p5.48xlarge", [f"p{number}.large" for number in range(11)]) == [
        Problem(
            "compute.overrides",
            "other_types has too many instance types, got 11; AWS Batch takes 10 launch templates beside the first; make "
            "another environment for the rest",
        )
    ]


def test_a_launch_template_of_another_type() -> None:
    assert compute.template_type("launch_template", "p5.48xlarge", "p5.48xlarge") == []
    assert compute.template_type("launch_template", "p4d.24xlarge", "p5.48xlarge") == [
        Problem(
            "compute.template_type",
            "launch_template is made for another instance type, got one for 'p4d.24xlarge'; 'p5.48xlarge' has other network "
            "cards; make a launch template for it",
        )
    ]


@pytest.mark.parametrize("version", ["1", TOKEN_TEXT])
def test_versions_that_stand_still(version: str) -> None:
    assert compute.template_version("launch_template", version) == []


@pytest.mark.parametrize("version", ["$Default", "$Latest"])
def test_versions_that_float(version: str) -> None:
    assert compute.template_version("launch_template", version) == [
        Problem(
            "compute.template_version",
            f"launch_template has a floating version, got {version!r}; AWS Batch reads it once, when the environment is "
            "made, and no later change would reach the hosts; name its version by version_number",
        )
    ]


def test_types_with_other_images_share_no_environment() -> None:
    assert compute.alike("p5.48xlarge", "ECS_AL2023_NVIDIA", "p4d.24xlarge", "ECS_AL2023_NVIDIA") == []
    assert compute.alike("p5.48xlarge", "ECS_AL2023_NVIDIA", "trn1.32xlarge", "/neuron") == [
        Problem(
            "compute.types_alike",
            "other_types has an instance type with another machine image, got 'trn1.32xlarge' with /neuron; the "
            "environment's p5.48xlarge starts from ECS_AL2023_NVIDIA; make another environment for it",
        )
    ]


@pytest.mark.parametrize(
    ("name", "image_type"),
    [
        ("p5.48xlarge", "ECS_AL2023_NVIDIA"),
        ("p3dn.24xlarge", "ECS_AL2_NVIDIA"),
        ("g5g.16xlarge", "ECS_AL2023"),
        ("trn1.32xlarge", "ECS_AL2023"),
    ],
)
def test_the_type_beside_an_own_image(name: str, image_type: str) -> None:
    assert lookup(name).own_image_type == image_type
