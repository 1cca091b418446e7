"""Roles of the user's own: whom they trust, and whether they have and take what they need."""

import pytest
from aws_cdk import aws_iam as iam
from infra_synth import IMAGE, ZONE, problems_of, stack, template_of, warnings_of

from muster_cdk import GpuCluster, Launcher, MultiNodeTrainingJob, SubmitterRole

HOSTS, TASKS = "ec2.amazonaws.com", "ecs-tasks.amazonaws.com"
ARN = "arn:aws:iam::123456789012:role/own"
POLICY = "service-role/AmazonEC2ContainerServiceforEC2Role"


@pytest.fixture
def scope(tmp_path):
    return stack(tmp_path)


def cluster(scope, **more):
    return GpuCluster(
        scope, "Cluster", instance_type="g6.8xlarge", max_nodes=2, availability_zone=ZONE, **more
    )


def job(scope, **more):
    return MultiNodeTrainingJob(
        scope,
        "Train",
        cluster=cluster(scope),
        nodes=2,
        image=IMAGE,
        launcher=Launcher.torch("train.py"),
        **more,
    )


def role(scope, *services, id="Own", **more):
    principals = [iam.ServicePrincipal(each) for each in services]
    return iam.Role(scope, id, assumed_by=iam.CompositePrincipal(*principals), **more)


def managed():
    return [iam.ManagedPolicy.from_aws_managed_policy_name(POLICY)]


def untrusted(where, argument, service, has):
    return (
        f"[{where}] {argument} does not trust {service}, got 'Test/Own', which trusts {has}; the service could not take it; "
        f"make it with iam.ServicePrincipal('{service}')"
    )


def test_a_role_of_the_hosts_that_trusts_tasks_is_refused(scope):
    cluster(scope, instance_role=role(scope, TASKS, managed_policies=managed()))
    assert problems_of(scope) == [untrusted("Test/Cluster", "instance_role", HOSTS, TASKS)]


@pytest.mark.parametrize("argument", ["job_role", "execution_role"])
def test_a_role_of_a_job_that_trusts_hosts_is_refused(scope, argument):
    job(scope, **{argument: role(scope, HOSTS)})
    assert problems_of(scope) == [untrusted("Test/Train", argument, TASKS, HOSTS)]


def test_roles_that_trust_both_are_fine(scope):
    cluster(scope, instance_role=role(scope, TASKS, HOSTS, managed_policies=managed()))
    assert problems_of(scope) == []
    assert warnings_of(scope) == []


def test_trust_may_be_added_until_the_synth(scope):
    own = role(scope, HOSTS)
    job(scope, job_role=own)
    own.assume_role_policy.add_statements(
        iam.PolicyStatement(actions=["sts:AssumeRole"], principals=[iam.ServicePrincipal(TASKS)])
    )
    assert problems_of(scope) == []


def test_a_role_of_the_hosts_without_any_policy_is_a_warning(scope):
    cluster(scope, instance_role=role(scope, HOSTS))
    assert warnings_of(scope) == [
        (
            "instance_role has no policy, got 'Test/Own'; the hosts register with ECS by it; give it "
            "service-role/AmazonEC2ContainerServiceforEC2Role before the cluster [ack: muster-cdk:instanceRolePolicy]"
        )
    ]


@pytest.mark.parametrize("how", ["inline", "added"])
def test_a_policy_of_any_kind_will_do(scope, how):
    statement = iam.PolicyStatement(actions=["ecs:*"], resources=["*"])
    inline = {"Own": iam.PolicyDocument(statements=[statement])}
    own = role(scope, HOSTS, inline_policies=inline if how == "inline" else None)
    if how == "added":
        own.add_to_policy(statement)
    cluster(scope, instance_role=own)
    assert warnings_of(scope) == []


@pytest.mark.parametrize("mutable", [True, False])
def test_grants_that_are_dropped_are_a_warning(scope, mutable):
    job(scope, execution_role=iam.Role.from_role_arn(scope, "Agent", ARN, mutable=mutable))
    found = warnings_of(scope)
    if mutable:
        assert found == []
        return
    (warning,) = found
    assert warning.startswith("execution_role takes no grants, got 'Test/")
    assert warning.partition("; ")[2] == (
        "it must allow to read the job's secret, to write its log and to pull its image; allow these where the role is "
        "made, or import it without mutable=False [ack: muster-cdk:executionRoleGrants]"
    )


EVERYBODY = (
    "[Test/Submitter] assumed_by is everybody, got the principal '*' without a condition; any account of AWS could take the "
    "role and submit jobs; name an account or a role, or add a condition on aws:PrincipalOrgID"
)


@pytest.mark.parametrize(
    "principal",
    [
        iam.AnyPrincipal(),
        iam.StarPrincipal(),
        iam.ArnPrincipal("*"),
        iam.CompositePrincipal(iam.AccountRootPrincipal(), iam.AnyPrincipal()),
    ],
)
def test_a_submitter_that_everybody_may_take_is_refused(scope, principal):
    SubmitterRole(scope, "Submitter", assumed_by=principal, jobs=[])
    assert problems_of(scope) == [EVERYBODY]


@pytest.mark.parametrize(
    "principal",
    [
        iam.AccountRootPrincipal(),
        iam.ArnPrincipal(ARN),
        iam.AnyPrincipal().with_conditions({"StringEquals": {"aws:PrincipalOrgID": "o-1"}}),
        iam.OrganizationPrincipal("o-1234567890"),
    ],
)
def test_a_submitter_that_some_may_take_is_fine(scope, principal):
    SubmitterRole(scope, "Submitter", assumed_by=principal, jobs=[])
    assert problems_of(scope) == []
    assert len(template_of(scope).of("AWS::IAM::Role")) == 1
