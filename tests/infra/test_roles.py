"""Roles, their boundaries, and what each grant allows."""

import json

import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from infra_synth import IMAGE, ZONE, stack, template_of
from moto.iam.aws_managed_policies import aws_managed_policies_data

from muster_cdk import GpuCluster, Launcher, MultiNodeTrainingJob, SubmitterRole

BOUNDARY = "arn:aws:iam::123456789012:policy/boundary"
MANAGED = "AmazonEC2ContainerServiceforEC2Role"
HERE = [{"Ref": "AWS::Region"}, ":", {"Ref": "AWS::AccountId"}]


@pytest.fixture
def scope(tmp_path):
    return stack(tmp_path)


def cluster(scope, id="Cluster", **more):
    return GpuCluster(scope, id, instance_type="g6.8xlarge", max_nodes=2, availability_zone=ZONE, **more)


def job(scope, of, id="Train", **more):
    return MultiNodeTrainingJob(
        scope, id, cluster=of, nodes=2, image=IMAGE, launcher=Launcher.torch("train.py"), **more
    )


def role(template, description):
    (found,) = [
        each["Properties"]
        for each in template.of("AWS::IAM::Role").values()
        if each["Properties"].get("Description") == description
    ]
    return found


def statements(template, principal):
    """Statements of the policies that are attached to a user or a role, by its ``Ref``."""
    found = []
    for each in template.of("AWS::IAM::Policy").values():
        properties = each["Properties"]
        if principal in [*properties.get("Users", ()), *properties.get("Roles", ())]:
            found += properties["PolicyDocument"]["Statement"]
    return found


def allowed(statement):
    actions = statement["Action"]
    return sorted([actions] if isinstance(actions, str) else actions)


def by_action(found):
    return {tuple(allowed(each)): each for each in found}


# --- hosts -------------------------------------------------------------------------------------


def test_hosts_have_awss_managed_policy(scope):
    cluster(scope)
    found = role(template_of(scope), "Hosts of a GPU cluster")
    (policy,) = found["ManagedPolicyArns"]
    assert policy["Fn::Join"][1][-1] == f":iam::aws:policy/service-role/{MANAGED}"
    assert "Policies" not in found


def test_the_inline_policy_is_a_copy_of_the_managed_one(scope):
    cluster(scope, inline_instance_policy=True)
    found = role(template_of(scope), "Hosts of a GPU cluster")
    assert "ManagedPolicyArns" not in found
    (policy,) = found["Policies"]
    ours = policy["PolicyDocument"]["Statement"]
    theirs = json.loads(aws_managed_policies_data)[MANAGED]
    assert theirs["DefaultVersionId"] == "v10", "a newer version: compare, and change INSTANCE_ACTIONS"
    assert [allowed(each) for each in ours] == [allowed(each) for each in theirs["Document"]["Statement"]]
    assert [each.get("Condition") for each in ours] == [
        each.get("Condition") for each in theirs["Document"]["Statement"]
    ]
    assert [each["Resource"] for each in ours[:2]] == ["*", "*"]
    assert [each["Fn::Join"][1][-1] for each in ours[2]["Resource"]] == [
        ":container-instance/*/*",
        ":task/*/*",
    ]


def test_an_own_role_of_the_hosts_is_taken(scope):
    own = iam.Role.from_role_arn(scope, "Own", "arn:aws:iam::123456789012:role/hosts")
    assert cluster(scope, instance_role=own).instance_role is own
    template = template_of(scope)
    assert template.one("AWS::IAM::InstanceProfile")["Roles"] == ["hosts"]
    assert "ec2.amazonaws.com" not in json.dumps(template.of("AWS::IAM::Role"))


# --- jobs --------------------------------------------------------------------------------------


def test_own_roles_of_a_job_are_taken_and_the_agents_is_granted_what_it_needs(scope):
    code = iam.Role.from_role_arn(scope, "Code", "arn:aws:iam::123456789012:role/code")
    agent = iam.Role.from_role_arn(scope, "Agent", "arn:aws:iam::123456789012:role/agent")
    made = job(scope, cluster(scope), job_role=code, execution_role=agent)
    template = template_of(scope)
    assert template.container["JobRoleArn"] == code.role_arn
    assert template.container["ExecutionRoleArn"] == agent.role_arn
    assert made.execution_role is agent
    actions = {action for each in statements(template, "agent") for action in allowed(each)}
    assert {"secretsmanager:GetSecretValue", "logs:PutLogEvents", "ecr:BatchGetImage"} <= actions
    assert "Training code of a job" not in json.dumps(template.of("AWS::IAM::Role"))


@pytest.mark.parametrize("kind", ["arn", "policy"])
def test_a_boundary_is_set_on_every_role_of_cluster_and_job(scope, kind):
    made = iam.ManagedPolicy.from_managed_policy_arn(scope, "Boundary", BOUNDARY)
    given = BOUNDARY if kind == "arn" else made
    of = cluster(scope, permissions_boundary=given)
    training = job(scope, of, permissions_boundary=given)
    SubmitterRole(
        scope,
        "Submitter",
        assumed_by=iam.AccountRootPrincipal(),
        jobs=[training],
        permissions_boundary=given,
    )
    roles = template_of(scope).of("AWS::IAM::Role")
    # CDK's provider behind restrictDefaultSecurityGroup is the stack's, not the cluster's.
    ours = {name: each for name, each in roles.items() if not name.startswith("Custom")}
    assert len(ours) == 5  # hosts, flow log, training code, agent, submitter
    assert {each["Properties"].get("PermissionsBoundary") for each in ours.values()} == {BOUNDARY}


def test_without_a_boundary_there_is_none(scope):
    job(scope, cluster(scope))
    assert "PermissionsBoundary" not in json.dumps(template_of(scope))


# --- grants ------------------------------------------------------------------------------------


def test_who_may_submit_may_submit_this_definition_to_this_queue_and_nothing_else(scope):
    made = job(scope, cluster(scope))
    user = iam.User(scope, "User")
    made.grant_submit(user)
    template = template_of(scope)
    (statement,) = statements(template, scope.resolve(user.user_name))
    assert allowed(statement) == ["batch:SubmitJob"]
    (name,) = template.of("AWS::Batch::JobQueue")
    queue = {"Fn::GetAtt": [name, "JobQueueArn"]}
    definitions = [each for each in statement["Resource"] if each != queue]
    assert len(definitions) == len(statement["Resource"]) - 1 == 2
    assert [each["Fn::Join"][1][-1] == ":*" for each in definitions].count(True) == 1


def test_who_may_manage_looks_at_jobs_and_ends_them(scope):
    made = cluster(scope)
    user = iam.User(scope, "User")
    made.grant_manage(user)
    template = template_of(scope)
    found = by_action(statements(template, scope.resolve(user.user_name)))
    stop = found["batch:CancelJob", "batch:TerminateJob"]
    assert stop["Resource"]["Fn::Join"][1] == [
        "arn:",
        {"Ref": "AWS::Partition"},
        ":batch:",
        *HERE,
        ":job/*",
    ]
    assert "Condition" not in stop
    look = found[
        "batch:DescribeComputeEnvironments",
        "batch:DescribeJobDefinitions",
        "batch:DescribeJobQueues",
        "batch:DescribeJobs",
        "batch:ListJobs",
    ]
    assert look["Resource"] == "*"
    (name,) = template.of("AWS::Batch::JobQueue")
    assert found[("batch:GetJobQueueSnapshot",)]["Resource"] == {"Fn::GetAtt": [name, "JobQueueArn"]}
    assert len(found) == 3


def test_ending_jobs_may_be_bound_to_their_tags(scope):
    made = cluster(scope)
    user = iam.User(scope, "User")
    grant = made.grant_manage(user, job_tags={"team": "vision", "stage": "test"})
    grant.assert_success()
    found = by_action(statements(template_of(scope), scope.resolve(user.user_name)))
    assert found["batch:CancelJob", "batch:TerminateJob"]["Condition"] == {
        "StringEquals": {"aws:ResourceTag/team": "vision", "aws:ResourceTag/stage": "test"}
    }
    assert sum("Condition" in each for each in found.values()) == 1


def test_who_may_read_logs_reads_this_group(scope):
    group = logs.LogGroup.from_log_group_name(scope, "Group", "training")
    made = job(scope, cluster(scope), log_group=group)
    user = iam.User(scope, "User")
    made.grant_read_logs(user)
    (statement,) = statements(template_of(scope), scope.resolve(user.user_name))
    assert allowed(statement) == ["logs:DescribeLogStreams", "logs:FilterLogEvents", "logs:GetLogEvents"]
    assert statement["Resource"]["Fn::Join"][1][-1] == ":log-group:training:*"


def test_who_may_pull_pulls_the_jobs_image(scope):
    made = job(scope, cluster(scope))
    user = iam.User(scope, "User")
    made.grant_pull(user)
    found = by_action(statements(template_of(scope), scope.resolve(user.user_name)))
    pull = found["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
    assert pull["Resource"]["Fn::Join"][1][-1] == ":ecr:us-east-1:123456789012:repository/digits"


def test_a_submitter_submits_follows_and_ends_its_jobs_and_reads_their_stack(scope):
    of = cluster(scope)
    jobs = [job(scope, of, "Train"), job(scope, of, "Evaluate")]
    made = SubmitterRole(
        scope,
        "Submitter",
        assumed_by=iam.AccountRootPrincipal(),
        jobs=jobs,
        job_tags={"team": "vision"},
    )
    template = template_of(scope)
    found = statements(template, scope.resolve(made.role_name))
    actions = {action for each in found for action in allowed(each)}
    assert actions == {
        *("batch:SubmitJob", "batch:CancelJob", "batch:TerminateJob", "batch:GetJobQueueSnapshot"),
        *("batch:DescribeComputeEnvironments", "batch:DescribeJobDefinitions", "batch:DescribeJobQueues"),
        *("batch:DescribeJobs", "batch:ListJobs", "cloudformation:DescribeStacks"),
        *("logs:DescribeLogStreams", "logs:FilterLogEvents", "logs:GetLogEvents"),
    }
    (stacks,) = [each for each in found if allowed(each) == ["cloudformation:DescribeStacks"]]
    assert stacks["Resource"]["Fn::Join"][1][-1] == ":stack/Test/*"
    (stop,) = [each for each in found if "Condition" in each]
    assert stop["Condition"] == {"StringEquals": {"aws:ResourceTag/team": "vision"}}
    wildcards = {tuple(allowed(each)) for each in found if each["Resource"] == "*"}
    assert {action.partition(":")[2][:4] for actions in wildcards for action in actions} == {"Desc", "List"}
    trust = role(template, "Submits multi-node jobs and follows them")["AssumeRolePolicyDocument"]
    assert trust["Statement"][0]["Principal"]["AWS"]["Fn::Join"][1][-1] == ":root"


def test_an_own_principal_gets_grants_as_well(scope):
    someone = iam.Role.from_role_arn(scope, "Someone", "arn:aws:iam::123456789012:role/someone")
    job(scope, cluster(scope)).grant_submit(someone)
    assert len(statements(template_of(scope), "someone")) == 1
