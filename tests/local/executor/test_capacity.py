"""Why a job waits in RUNNABLE: the arithmetic."""

from __future__ import annotations

import pytest

from muster_cli.local.executor.capacity import (
    MAX_RESOURCE,
    RESOURCE_REQUIREMENT,
    Demand,
    Environment,
    blocked,
    fit,
    place,
    status_reason,
    time_limit,
)

P5 = Demand(nodes=2, instance_types=("p5.48xlarge",), vcpus=192, memory=1_000_000, gpus=8)


def _environment(*types, max_vcpus: int | None = 384, enabled=True, name="ce"):
    return Environment(name, enabled, types, max_vcpus)


@pytest.mark.parametrize(
    ("demand", "environment", "expected"),
    [
        (P5, _environment("p5.48xlarge"), ""),
        (P5, _environment("p5"), ""),
        (P5, _environment("p5.48xlarge", max_vcpus=None), ""),
        (P5, _environment(), ""),
        (P5, _environment("p5.48xlarge", max_vcpus=383), MAX_RESOURCE),
        (P5, _environment("g5.8xlarge"), RESOURCE_REQUIREMENT),
        (P5, _environment("optimal"), RESOURCE_REQUIREMENT),
        (P5._replace(vcpus=4), _environment("p5.48xlarge", max_vcpus=383), MAX_RESOURCE),
        (P5._replace(vcpus=193), _environment("p5.48xlarge", max_vcpus=999), RESOURCE_REQUIREMENT),
        (P5._replace(gpus=9), _environment("p5.48xlarge"), RESOURCE_REQUIREMENT),
        (P5._replace(memory=2_097_152), _environment("p5.48xlarge"), RESOURCE_REQUIREMENT),
        (P5._replace(instance_types=()), _environment("p5.48xlarge"), ""),
        (P5._replace(instance_types=()), _environment("g5.8xlarge"), RESOURCE_REQUIREMENT),
        (Demand(2, ("c5.large",), 2), _environment("optimal"), ""),
        (Demand(2, ("x9.unheard",), 2), _environment("x9.unheard", max_vcpus=4), ""),
        (Demand(2, ("x9.unheard",), 2), _environment("x9.unheard", max_vcpus=3), MAX_RESOURCE),
    ],
)
def test_fit(demand, environment, expected):
    assert fit(demand, environment) == expected


def test_one_environment_that_fits_is_enough():
    assert blocked(P5, [_environment("g5.8xlarge"), _environment("p5")]) == ""
    assert blocked(P5, [_environment("g5.8xlarge"), _environment("p5", max_vcpus=1)]) == RESOURCE_REQUIREMENT
    assert blocked(P5, []) == RESOURCE_REQUIREMENT


def test_the_first_environment_with_room():
    one, two = _environment("p5", name="one"), _environment("p5", name="two")
    assert place(P5, [one, two], {}) == one
    assert place(P5, [one, two], {"one": 1}) == two
    assert place(P5, [one, two], {"one": 1, "two": 1}) is None
    assert place(P5, [one._replace(enabled=False), two], {}) == two


def test_words():
    assert status_reason(MAX_RESOURCE) == (
        "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE - CE(s) associated with the job queue cannot meet the"
        " CPU requirement of the job."
    )
    assert status_reason(RESOURCE_REQUIREMENT) == (
        "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - The job resource requirement (vCPU/memory/GPU) is higher"
        " than that can be met by the CE(s) attached to the job queue."
    )


def test_time_limits_by_reason():
    actions = [
        {"reason": MAX_RESOURCE, "maxTimeSeconds": 600, "state": "RUNNABLE", "action": "CANCEL"},
        {"reason": MAX_RESOURCE, "maxTimeSeconds": 900, "state": "RUNNABLE", "action": "CANCEL"},
    ]
    assert time_limit(actions, MAX_RESOURCE) == 600
    assert time_limit(actions, RESOURCE_REQUIREMENT) is None
