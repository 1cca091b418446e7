"""Fair-share policies: made, changed and removed by CloudFormation, and what Batch refuses of them."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError
from local_deploy import client, delete, deploy, deploy_well, one, reasons
from moto.batch.exceptions import ClientException
from moto.batch.models import ComputeEnvironment, batch_backends

from muster_cli.local.fills import patching
from muster_cli.local.fills.batch_scheduling import ADDED, REMOVED, check_share
from muster_cli.local.settings import ACCOUNT, REGION

pytestmark = pytest.mark.usefixtures("account")
POLICY = "AWS::Batch::SchedulingPolicy"
ARN = "arn:aws:batch:us-east-1:123456789012:scheduling-policy/it"


def policies():
    batch = client("batch")
    arns = [each["arn"] for each in batch.list_scheduling_policies()["schedulingPolicies"]]
    return batch.describe_scheduling_policies(arns=arns)["schedulingPolicies"]


def test_a_policy_is_made_changed_in_place_and_removed():
    before = deploy_well(one(POLICY, ("Arn",), FairsharePolicy={"ShareDecaySeconds": 600}))
    assert before["Arn"] == before["Id"]
    assert policies()[0]["fairsharePolicy"]["shareDecaySeconds"] == 600
    weights = [{"ShareIdentifier": "teamA", "WeightFactor": "0.5"}]
    after = deploy_well(one(POLICY, ("Arn",), FairsharePolicy={"ShareDistribution": weights}))
    assert after == before
    assert policies()[0]["fairsharePolicy"]["shareDistribution"] == [
        {"shareIdentifier": "teamA", "weightFactor": 0.5}
    ]
    delete()
    assert policies() == []


def test_another_name_is_another_policy():
    before = deploy_well(one(POLICY, Name="a"))
    after = deploy_well(one(POLICY, Name="b"))
    assert (before["Id"].rpartition("/")[2], after["Id"].rpartition("/")[2]) == ("a", "b")
    assert [each["name"] for each in policies()] == ["b"]


def test_stock_moto_does_not_know_the_resource():
    with (
        patching.unfilled(),
        pytest.warns(UserWarning, match=r"AWS::Batch::SchedulingPolicy .*not supported"),
    ):
        client("cloudformation").create_stack(StackName="Stock", TemplateBody=json.dumps(one(POLICY)))
    assert policies() == []


def queue(name="queue", environments=1, **properties):
    """A queue by CloudFormation, in front of environments that only moto's lists hold."""
    backend = batch_backends[ACCOUNT][REGION]
    order = []
    for number in range(environments):
        made = ComputeEnvironment(f"ce{number}", "MANAGED", "ENABLED", {}, "role", ACCOUNT, REGION)
        backend._compute_environments.setdefault(made.arn, made)
        order.append({"Order": number + 1, "ComputeEnvironment": made.arn})
    return one(
        "AWS::Batch::JobQueue",
        Priority=1,
        ComputeEnvironmentOrder=order,
        JobQueueName=name,
        **properties,
    )


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [({}, {"SchedulingPolicyArn": ARN}, ADDED), ({"SchedulingPolicyArn": ARN}, {}, REMOVED)],
)
def test_a_policy_neither_comes_later_nor_goes(before, after, words):
    deploy_well(queue(**before))
    assert deploy(queue(**after))["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert reasons() == [f"It UPDATE_FAILED: {words}"]


def test_another_policy_comes_in_place():
    before = deploy_well(queue(SchedulingPolicyArn=ARN))
    assert deploy_well(queue(SchedulingPolicyArn=f"{ARN}2")) == before
    (found,) = client("batch").describe_job_queues()["jobQueues"]
    assert found["schedulingPolicyArn"] == f"{ARN}2"


def test_the_api_refuses_it_where_stock_moto_takes_it():
    deploy_well(queue())
    batch = client("batch")
    with pytest.raises(ClientError, match="can't have a fair-share scheduling policy added"):
        batch.update_job_queue(jobQueue="queue", schedulingPolicyArn=ARN)
    batch.update_job_queue(jobQueue="queue", priority=3)
    with patching.unfilled():
        batch.update_job_queue(jobQueue="queue", schedulingPolicyArn=ARN)
    assert batch.describe_job_queues()["jobQueues"][0]["schedulingPolicyArn"] == ARN


def test_a_policy_in_use_stays():
    arn = deploy_well(one(POLICY))["Id"]
    deploy_well(queue(SchedulingPolicyArn=arn), "Queue")
    with pytest.raises(
        ClientError, match="You can't delete a scheduling policy that's used in any job queues"
    ):
        client("batch").delete_scheduling_policy(arn=arn)
    delete("Queue")
    client("batch").delete_scheduling_policy(arn=arn)
    assert policies() == []


def test_four_environments_are_too_many():
    deploy_well(queue(environments=3))
    assert deploy(queue("other", 4), "Other")["StackStatus"] == "ROLLBACK_COMPLETE"
    assert reasons("Other") == [
        "It CREATE_FAILED: computeEnvironmentOrder must have at most 3 compute environments"
    ]


def test_a_submission_names_its_share_where_the_queue_has_a_policy_and_only_there():
    check_share(None, {})
    check_share(ARN, {"shareIdentifier": "teamA"})
    with pytest.raises(ClientException, match="shareIdentifier must be specified"):
        check_share(ARN, {})
    with pytest.raises(ClientException, match="shareIdentifier can't be specified"):
        check_share(None, {"shareIdentifier": "teamA"})
