"""MultiNodeTrainingJob: the job definition, its secret, its roles and its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
import jsii
from aws_cdk import aws_batch as batch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from muster_cdk import retry, roles, trust
from muster_cdk.arguments import checked
from muster_cdk.capacity_times import warn_of_remainder
from muster_cdk.coercion import to_count, to_duration, to_mebibytes, to_variables
from muster_cdk.container import ContainerSpec, Data, container
from muster_cdk.image import TrainingImage
from muster_cdk.launcher import Launcher, warn_of_command
from muster_cdk.outputs import add_output
from muster_cdk.paths import account_and_region
from muster_cdk.transport import warn_of_transport
from muster_cdk.validation import Report
from muster_core import rules
from muster_core.contract import (
    ENV_JOB_SECRET,
    OPEN_NODE_RANGE,
    OUTPUT_JOB_DEFINITION,
    OUTPUT_JOB_QUEUE,
    OUTPUT_LOG_GROUP,
)
from muster_core.rules import sizes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muster_cdk.cluster import GpuCluster

DEFAULT_TIMEOUT = "24h"
SECRET_LENGTH = 64
MAIN_NODE = 0


@jsii.implements(iam.IGrantable)
class MultiNodeTrainingJob(Construct):
    """A multi-node job on a cluster: a job definition that any client of Batch can submit.

    Its one node range is open, so a submission may set the number of nodes. Each node takes a
    whole instance: all vCPUs and accelerators, the usable memory, every EFA device.

    Grants to the job go to the training code: ``bucket.grant_read(job)``.

    Attributes:
        cluster: The cluster.
        job_definition: The L1 construct.
        job_role: Role of the training code.
        execution_role: Role of the ECS agent on behalf of the job.
        log_group: The log group, with a stream for each node.
        secret: The rendezvous secret, by which nodes of the job know each other.
        timeout: The timeout of an attempt.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: GpuCluster,
        nodes: int,
        image: TrainingImage | str,
        launcher: Launcher,
        timeout: str | cdk.Duration = DEFAULT_TIMEOUT,
        environment: Mapping[str, str] | None = None,
        memory: str | cdk.Size | None = None,
        shared_memory: str | cdk.Size | None = None,
        retry_attempts: int = retry.DEFAULT_ATTEMPTS,
        job_role: iam.IRole | None = None,
        execution_role: iam.IRole | None = None,
        permissions_boundary: iam.IManagedPolicy | str | None = None,
        log_group: logs.ILogGroup | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.THREE_MONTHS,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN,
    ) -> None:
        """Make the job definition.

        Args:
            scope: Parent construct.
            id: Id of this construct.
            cluster: The cluster that it runs on.
            nodes: Nodes of a submission that does not say otherwise, 1 to the cluster's ``max_nodes``.
            image: The training image: a ``TrainingImage``, or the URI of an image that holds the runtime.
            launcher: How the training is started, such as ``Launcher.torch("train.py")``.
            timeout: Time that an attempt of the whole job may take, at least 60 s; it counts from the
                start of the main node, and a job that reaches it is not tried again. Default: 24h.
            environment: Variables of the training processes; names that begin with AWS_BATCH or MUSTER_
                and those that the launcher sets are refused. Default: none.
            memory: Memory of a node, a hard limit. Default: - what is usable on the type, 95 %.
            shared_memory: Size of ``/dev/shm``, which is part of the memory. Default: - half of the memory.
            retry_attempts: Attempts in all, 1 to 10: lost hosts and temporary faults are tried again,
                faults of the training never. Default: 3.
            job_role: Role of the training code. Default: - a new one without permissions.
            execution_role: Role of the ECS agent on behalf of the job; what the job needs is granted to it.
                Default: - a new one.
            permissions_boundary: A managed policy, or its ARN, that bounds the roles made here. Default: none.
            log_group: The log group. Default: - a new one.
            log_retention: How long a new log group keeps its events. Default: three months.
            removal_policy: What becomes of a new log group on deletion. Default: RETAIN.

        Raises:
            TypeError: An argument has a type that cannot be taken.
            ValueError: A text is no duration or size. All other problems are reported together at the synth.
        """
        super().__init__(scope, id)
        self.cluster = cluster
        self.timeout = to_duration(timeout, "timeout")
        self._nodes = to_count(nodes, "nodes")
        self._launcher = _checked_launcher(launcher)
        self._variables = to_variables(environment)
        self._attempts = to_count(retry_attempts, "retry_attempts")
        roles.bound(self, permissions_boundary)
        self._image = _to_image(image).bind(self, "Image", cluster.instance)
        self.log_group: logs.ILogGroup = log_group or logs.LogGroup(
            self, "LogGroup", retention=log_retention, removal_policy=removal_policy
        )
        self.secret = self._create_secret()
        self.job_role = job_role or roles.job_role(self, "JobRole")
        self.execution_role = execution_role or roles.execution_role(self, "ExecutionRole")
        trust.check_service(self, "job_role", job_role, "ecs-tasks")
        trust.check_service(self, "execution_role", execution_role, "ecs-tasks")
        self._grant_execution()
        spec = self._container_spec(memory, shared_memory)
        self.job_definition = self._create_definition(container(spec))
        self.node.default_child = self.job_definition
        cluster.compute_environment.drain(self.timeout)
        self._validate(spec)
        self._create_outputs()

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """The training code."""
        return self.job_role.grant_principal

    @property
    def definition_name(self) -> str:
        """Name of the job definition: a submission by name takes its newest revision."""
        resource = cdk.Fn.select(1, cdk.Fn.split("/", self.job_definition.ref))
        return cdk.Fn.select(0, cdk.Fn.split(":", resource))

    @checked
    def grant_submit(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let somebody submit this definition, in all revisions, to the cluster's queue, and nothing else.

        Args:
            grantee: Who may submit.

        Returns:
            The grant.
        """
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["batch:SubmitJob"],
            resource_arns=[
                self._definition_arn(self.definition_name),
                self._definition_arn(f"{self.definition_name}:*"),
                self.cluster.job_queue.arn,
            ],
        )

    def grant_read_logs(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let somebody read the logs of the job's nodes.

        Args:
            grantee: Who may read.

        Returns:
            The grant.
        """
        return roles.grant_read_logs(grantee, self.log_group.log_group_arn)

    @checked
    def grant_pull(self, grantee: iam.IGrantable) -> None:
        """Let somebody pull the job's image; does nothing for an image outside of ECR.

        Args:
            grantee: Who may pull.
        """
        self._image.grant_pull(grantee)

    def _definition_arn(self, name: str) -> str:
        return cdk.Stack.of(self).format_arn(service="batch", resource="job-definition", resource_name=name)

    def _create_secret(self) -> secretsmanager.Secret:
        return secretsmanager.Secret(
            self,
            "Secret",
            description="Rendezvous secret of a multi-node job",
            generate_secret_string=secretsmanager.SecretStringGenerator(
                password_length=SECRET_LENGTH, exclude_punctuation=True
            ),
        )

    def _grant_execution(self) -> None:
        self.secret.grant_read(self.execution_role)
        self.log_group.grant_write(self.execution_role)
        self._image.grant_pull(self.execution_role)
        trust.warn_dropped_grants(self, self.execution_role)

    def _container_spec(
        self, memory: str | cdk.Size | None, shared_memory: str | cdk.Size | None
    ) -> ContainerSpec:
        return ContainerSpec(
            instance=self.cluster.instance,
            image=self._image.uri,
            command=self._launcher.command,
            environment=self._variables,
            secrets={ENV_JOB_SECRET: self.secret.secret_arn},
            efa_devices=self.cluster.efa_devices,
            memory_mib=None if memory is None else to_mebibytes(memory, "memory"),
            shared_memory_mib=None if shared_memory is None else to_mebibytes(shared_memory, "shared_memory"),
            job_role_arn=self.job_role.role_arn,
            execution_role_arn=self.execution_role.role_arn,
            log_options={
                "awslogs-group": self.log_group.log_group_name,
                "awslogs-region": cdk.Stack.of(self).region,
            },
            stop_timeout_seconds=int(self.cluster.launch_template.stop_timeout.to_seconds()),
            mount_points=self.cluster.launch_template.mount_points,
        )

    def _create_definition(self, properties: Data) -> batch.CfnJobDefinition:
        return batch.CfnJobDefinition(
            self,
            "Resource",
            type="multinode",
            platform_capabilities=["EC2"],
            node_properties=self._node_properties(properties),
            timeout={"attemptDurationSeconds": self.timeout.to_seconds()},
            # Batch refuses a job without one where the queue has a fair share.
            scheduling_priority=0 if self.cluster.job_queue.needs_share_identifier else None,
            retry_strategy={"attempts": self._attempts, "evaluateOnExit": retry.default_rules()},
        )

    def _node_properties(self, properties: Data) -> Data:
        return {
            "numNodes": self._nodes,
            "mainNode": MAIN_NODE,
            "nodeRangeProperties": [{"targetNodes": OPEN_NODE_RANGE, "container": properties}],
        }

    def _validate(self, spec: ContainerSpec) -> None:
        request = rules.JobRequest(
            nodes=self._nodes,
            max_nodes=self.cluster.max_nodes,
            launcher=self._launcher.name,
            launcher_options=self._launcher.options,
            command=self._launcher.program,
            environment=self._variables,
            image=spec.image,
            memory_mib=spec.memory,
            shared_memory_mib=spec.shared_memory,
            timeout_seconds=self.timeout.to_seconds(),
            attempts=self._attempts,
            evaluate_on_exit=retry.default_rules(),
            account_and_region=account_and_region(self),
            cluster_account_and_region=account_and_region(self.cluster),
            block_seconds=self.cluster.launch_template.capacity.request().usable_seconds,
        )
        warn_of_command(self, self._launcher, self.cluster.instance)
        warn_of_transport(self, self._variables, self.cluster.instance)
        warn_of_remainder(self, self.cluster.launch_template.capacity, self.timeout)
        report = Report(self)
        report.add(rules.job(self.cluster.instance, request))
        report.add(sizes.definition({"nodeProperties": self._node_properties(container(spec))}))

    def _create_outputs(self) -> None:
        add_output(self, "DefinitionName", OUTPUT_JOB_DEFINITION, self.definition_name)
        add_output(self, "QueueArn", OUTPUT_JOB_QUEUE, self.cluster.job_queue.arn)
        add_output(self, "LogGroupName", OUTPUT_LOG_GROUP, self.log_group.log_group_name)


def _to_image(image: TrainingImage | str) -> TrainingImage:
    if isinstance(image, str):
        return TrainingImage.from_uri(image)
    if isinstance(image, TrainingImage):
        return image
    raise TypeError(
        f"image must be a TrainingImage or the URI of an image, got {type(image).__name__} {image!r}; "
        "use TrainingImage.from_directory"
    )


def _checked_launcher(launcher: Launcher) -> Launcher:
    if isinstance(launcher, Launcher):
        return launcher
    raise TypeError(
        f"launcher must be a Launcher, got {type(launcher).__name__} {launcher!r}; "
        "use a method of Launcher such as Launcher.torch('train.py')"
    )
