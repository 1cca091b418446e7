"""One session, few clients, and AWS's errors as sentences.

boto3 costs a fifth of a second: it is imported when the first client is asked for.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from muster_cli.errors import EXIT_REFUSED, MusterError
from muster_cli.invocation import command
from muster_core.contract import EXIT_CONFIG, EXIT_UNAVAILABLE

if TYPE_CHECKING:
    import boto3
    from botocore.exceptions import ClientError
    from mypy_boto3_batch.client import BatchClient
    from mypy_boto3_cloudformation.client import CloudFormationClient
    from mypy_boto3_logs.client import CloudWatchLogsClient

PROMPT_ATTEMPTS = 3
"""Tries of a call where a person waits for the answer: at most some 3 s of back-off."""
PATIENT_ATTEMPTS = 10
"""Tries of a call while a job is being waited for: a minute of back-off rides out an outage."""
CONNECT_TIMEOUT = 10
READ_TIMEOUT = 60

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Aws:
    """Clients of one region and profile, made when first asked for.

    Args:
        region: Default: - what AWS's own variables and files say.
        profile: Default: - what AWS's own variables and files say.
        attempts: Tries of each call, with jittered exponential back-off of at most 20 s. Default: 3.
    """

    def __init__(
        self, region: str | None = None, profile: str | None = None, attempts: int = PROMPT_ATTEMPTS
    ) -> None:
        self._region = region
        self._profile = profile
        self._attempts = attempts

    @functools.cached_property
    def _session(self) -> boto3.Session:
        import boto3  # noqa: PLC0415  a fifth of a second

        return boto3.Session(region_name=self._region, profile_name=self._profile)

    def _client(self, service: str) -> Any:  # noqa: ANN401  boto3's clients have no common type
        from botocore.config import Config  # noqa: PLC0415  comes with boto3

        retries: Any = {"mode": "standard", "total_max_attempts": self._attempts}
        config = Config(retries=retries, connect_timeout=CONNECT_TIMEOUT, read_timeout=READ_TIMEOUT)
        return self._session.client(service, config=config)  # type: ignore[call-overload]

    @functools.cached_property
    def batch(self) -> BatchClient:
        """AWS Batch."""
        client: BatchClient = self._client("batch")
        return client

    @functools.cached_property
    def cloudformation(self) -> CloudFormationClient:
        """CloudFormation."""
        client: CloudFormationClient = self._client("cloudformation")
        return client

    @functools.cached_property
    def logs(self) -> CloudWatchLogsClient:
        """CloudWatch Logs."""
        client: CloudWatchLogsClient = self._client("logs")
        return client

    @property
    def local(self) -> bool:
        """Whether the endpoint is on this machine: a local cloud."""
        return urlsplit(self.logs.meta.endpoint_url).hostname in LOOPBACK


def is_aws_error(error: BaseException) -> bool:
    """Whether boto3 raised it; asks without importing boto3."""
    return any(base.__module__.startswith(("botocore.", "boto3.")) for base in type(error).__mro__)


def sentence(error: Exception) -> MusterError:
    """Turn an error of boto3 into a sentence with an exit code.

    Args:
        error: What :func:`is_aws_error` is true for.

    Returns:
        The error to raise: 78 where the configuration or a permission is at fault, 69 where the
        service cannot be reached, 1 where it refused the request.
    """
    from botocore import exceptions as botocore  # noqa: PLC0415  loaded already

    if isinstance(error, botocore.ClientError):
        return _refused(error)
    for kinds, text, code in _CLIENT_SIDE:
        if any(_is(error, kind) for kind in kinds):
            return MusterError(text.format(error=error, endpoint=_endpoint(error), **_commands()), code)
    return MusterError(f"AWS could not be asked: {error}", EXIT_REFUSED)


_CLIENT_SIDE: tuple[tuple[tuple[str, ...], str, int], ...] = (
    (
        ("NoRegionError",),
        "no region is set; give --region, or set AWS_REGION",
        EXIT_CONFIG,
    ),
    (
        ("NoCredentialsError", "PartialCredentialsError"),
        (
            "no complete AWS credentials were found; give --profile, log in with the AWS CLI, "
            'or for a local cloud: eval "$({env})"'
        ),
        EXIT_CONFIG,
    ),
    (
        ("ProfileNotFound",),
        "{error}; see `aws configure list-profiles` for those there are",
        EXIT_CONFIG,
    ),
    (
        ("TokenRetrievalError", "SSOTokenLoadError", "UnauthorizedSSOTokenError", "SSOError"),
        "the single sign-on session has ended; log in again with `aws sso login`",
        EXIT_CONFIG,
    ),
    (
        ("EndpointConnectionError", "ConnectionError", "HTTPClientError"),
        (
            "nothing answers at {endpoint}; check the network, the region and AWS_ENDPOINT_URL "
            "(a local cloud is started by `{up}`)"
        ),
        EXIT_UNAVAILABLE,
    ),
    (
        ("ParamValidationError",),
        "AWS would not take this request: {error}",
        EXIT_REFUSED,
    ),
)
"""Errors that no service answered, by the names of their classes in botocore, with text and code."""

_EXPIRED = ("ExpiredToken", "ExpiredTokenException", "RequestExpired")
_UNKNOWN = (
    "InvalidClientTokenId",
    "UnrecognizedClientException",
    "SignatureDoesNotMatch",
    "InvalidSignatureException",
    "AuthFailure",
)
DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError")
"""Codes of errors of a caller who may not do something."""
_THROTTLED = ("Throttling", "ThrottlingException", "TooManyRequestsException", "RequestLimitExceeded")
_ACTION = re.compile(r"not authorized to perform:? ([a-z0-9-]+:\w+)")


def _refused(error: ClientError) -> MusterError:
    code = error.response.get("Error", {}).get("Code", "")
    text = error.response.get("Error", {}).get("Message", "") or code
    if code in _EXPIRED:
        return MusterError(
            "the AWS credentials have expired; log in again (or set this clock right)", EXIT_CONFIG
        )
    if code in _UNKNOWN:
        return MusterError(
            f"AWS does not know these credentials ({code}); check profile and keys", EXIT_CONFIG
        )
    if code in DENIED:
        named = _ACTION.search(text)
        action = named.group(1) if named else error.operation_name
        return MusterError(
            f"access denied: these credentials may not {action}; ask for that action", EXIT_CONFIG
        )
    if code in _THROTTLED:
        return MusterError(
            f"AWS still throttles {error.operation_name} after several tries; wait a minute",
            EXIT_UNAVAILABLE,
        )
    return MusterError(f"AWS refused {error.operation_name}: {text}", EXIT_REFUSED)


def _commands() -> dict[str, str]:
    return {"env": command("local", "env"), "up": command("local", "up")}


def _is(error: Exception, name: str) -> bool:
    return any(
        base.__name__ == name and base.__module__.startswith("botocore") for base in type(error).__mro__
    )


def _endpoint(error: Exception) -> str:
    given: dict[str, Any] = getattr(error, "kwargs", {})
    url = urlsplit(str(given.get("endpoint_url") or ""))
    return f"{url.scheme}://{url.netloc}" if url.netloc else "the service's endpoint"
