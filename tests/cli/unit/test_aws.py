"""AWS's errors come out as sentences with an exit code."""

from __future__ import annotations

from typing import Any

import pytest
from botocore import exceptions as botocore
from botocore.exceptions import ClientError

from muster_cli.aws import Aws, is_aws_error, sentence

pytestmark = pytest.mark.unit


def _answer(code: str, message: str, operation: str = "SubmitJob") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)


REFUSED: list[tuple[ClientError, str, int]] = [
    (
        _answer("ExpiredTokenException", "The security token included in the request is expired"),
        "the AWS credentials have expired; log in again (or set this clock right)",
        78,
    ),
    (
        _answer("UnrecognizedClientException", "The security token included in the request is invalid."),
        "AWS does not know these credentials (UnrecognizedClientException); check profile and keys",
        78,
    ),
    (
        _answer(
            "AccessDeniedException",
            "User: arn:aws:iam::1:user/x is not authorized to perform: batch:SubmitJob on resource: y",
        ),
        "access denied: these credentials may not batch:SubmitJob; ask for that action",
        78,
    ),
    (
        _answer("AccessDeniedException", "no"),
        "access denied: these credentials may not SubmitJob; ask for that action",
        78,
    ),
    (
        _answer("ThrottlingException", "Rate exceeded"),
        "AWS still throttles SubmitJob after several tries; wait a minute",
        69,
    ),
    (
        _answer("ClientException", "JobQueue gpus not found"),
        "AWS refused SubmitJob: JobQueue gpus not found",
        1,
    ),
    (_answer("ServerException", ""), "AWS refused SubmitJob: ServerException", 1),
]


@pytest.mark.parametrize(("error", "text", "code"), REFUSED)
def test_what_a_service_answers(error: ClientError, text: str, code: int) -> None:
    found = sentence(error)
    assert (found.message, found.exit_code) == (text, code)


OWN: list[tuple[Exception, str, int]] = [
    (botocore.NoRegionError(), "no region is set; give --region, or set AWS_REGION", 78),
    (
        botocore.NoCredentialsError(),
        (
            "no complete AWS credentials were found; give --profile, log in with the AWS CLI, or for a local cloud:"
            ' eval "$(muster local env)"'
        ),
        78,
    ),
    (
        botocore.ProfileNotFound(profile="work"),
        "The config profile (work) could not be found; see `aws configure list-profiles` for those there are",
        78,
    ),
    (
        botocore.UnauthorizedSSOTokenError(),
        "the single sign-on session has ended; log in again with `aws sso login`",
        78,
    ),
    (
        botocore.EndpointConnectionError(endpoint_url="http://127.0.0.1:9/v1/describejobs"),
        (
            "nothing answers at http://127.0.0.1:9; check the network, the region and AWS_ENDPOINT_URL"
            " (a local cloud is started by `muster local up`)"
        ),
        69,
    ),
    (
        botocore.ReadTimeoutError(endpoint_url="https://batch.us-east-1.amazonaws.com/"),
        (
            "nothing answers at https://batch.us-east-1.amazonaws.com; check the network, the region and"
            " AWS_ENDPOINT_URL (a local cloud is started by `muster local up`)"
        ),
        69,
    ),
    (
        botocore.HTTPClientError(error="broken"),
        (
            "nothing answers at the service's endpoint; check the network, the region and AWS_ENDPOINT_URL"
            " (a local cloud is started by `muster local up`)"
        ),
        69,
    ),
    (
        botocore.ParamValidationError(report="Missing required parameter"),
        "AWS would not take this request: Parameter validation failed:\nMissing required parameter",
        1,
    ),
    (botocore.DataNotFoundError(data_path="x"), "AWS could not be asked: Unable to load data for: x", 1),
]


@pytest.mark.parametrize(("error", "text", "code"), OWN)
def test_what_boto3_itself_finds(error: Exception, text: str, code: int) -> None:
    found = sentence(error)
    assert (found.message, found.exit_code) == (text, code)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (botocore.NoRegionError(), True),
        (_answer("x", "y"), True),
        (ValueError("x"), False),
        (OSError(), False),
    ],
)
def test_errors_of_boto3_are_told_from_others(error: Exception, expected: bool) -> None:
    assert is_aws_error(error) is expected


@pytest.mark.parametrize(
    ("endpoint", "local"),
    [("http://127.0.0.1:40123", True), ("http://localhost:40123", True), (None, False)],
)
def test_a_local_cloud_is_told_by_its_endpoint(
    monkeypatch: pytest.MonkeyPatch, endpoint: str | None, local: bool
) -> None:
    if endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    assert Aws().local is local


def test_clients_retry_with_a_bound_and_are_made_once() -> None:
    aws = Aws(region="eu-west-1", attempts=4)
    clients: list[Any] = [aws.batch, aws.logs, aws.cloudformation]
    for client in clients:
        assert client.meta.region_name == "eu-west-1"
        assert client.meta.config.retries == {"mode": "standard", "total_max_attempts": 4}
    assert aws.batch is aws.batch
