"""Change sets, as the CDK makes them."""

import json

import pytest
from botocore.exceptions import ClientError
from local_deploy import client, deploy_well, describe, one, outputs

from muster_cli.local.fills import patching

pytestmark = pytest.mark.usefixtures("account")
NAME = "cdk-deploy-change-set"


def group(name, **more):
    return json.dumps({**one("AWS::Logs::LogGroup", LogGroupName=name), **more})


def make(body, kind="CREATE", stack="Muster", **more):
    return client("cloudformation").create_change_set(
        StackName=stack, ChangeSetName=NAME, ChangeSetType=kind, TemplateBody=body, **more
    )


def execute(stack="Muster", **more):
    client("cloudformation").execute_change_set(StackName=stack, ChangeSetName=NAME, **more)
    return describe(stack)


def look(stack="Muster"):
    return client("cloudformation").describe_change_set(StackName=stack, ChangeSetName=NAME)


def drop(stack="Muster"):
    client("cloudformation").delete_change_set(StackName=stack, ChangeSetName=NAME)


def test_a_change_set_creates_and_the_next_one_updates():
    make(group("a"))
    assert describe()["StackStatus"] == "REVIEW_IN_PROGRESS"
    assert [c["ResourceChange"]["LogicalResourceId"] for c in look()["Changes"]] == ["It"]
    assert outputs(execute()) == {"Id": "a"}
    drop()
    make(group("b"), "UPDATE")
    stack = execute()
    assert stack["StackStatus"] == "UPDATE_COMPLETE"
    assert outputs(stack) == {"Id": "b"}
    assert look()["ExecutionStatus"] == "EXECUTE_COMPLETE"


def test_stock_moto_does_not_refresh_the_outputs():
    with patching.unfilled():
        make(group("a"))
        execute()
        drop()
        make(group("b"), "UPDATE")
        assert outputs(execute()) != {"Id": "b"}


def test_the_same_again_is_no_change():
    deploy_well(json.loads(group("a")))
    make(group("a"), "UPDATE")
    found = look()
    assert (found["Status"], found["ExecutionStatus"]) == ("FAILED", "UNAVAILABLE")
    assert "didn't contain changes" in found["StatusReason"]
    with pytest.raises(ClientError, match="cannot be executed"):
        execute()


def test_two_stacks_have_change_sets_of_one_name():
    make(group("a"), stack="One")
    make(group("b"), stack="Two")
    assert outputs(execute("One")) == {"Id": "a"}
    assert describe("Two")["StackStatus"] == "REVIEW_IN_PROGRESS"
    drop("One")
    assert look("Two")["StackName"] == "Two"
    listed = client("cloudformation").list_change_sets(StackName="Two")["Summaries"]
    assert [(each["StackName"], each["ChangeSetName"]) for each in listed] == [("Two", NAME)]


def test_stock_moto_takes_one_for_the_other():
    with patching.unfilled():
        make(group("a"), stack="One")
        make(group("b"), stack="Two")
        execute("One")
        assert describe("One")["StackStatus"] == "REVIEW_IN_PROGRESS"


def test_a_missing_change_set_has_the_code_that_the_cdk_looks_for():
    deploy_well(json.loads(group("a")))
    with pytest.raises(ClientError) as caught:
        look()
    assert caught.value.response["Error"]["Code"] == "ChangeSetNotFound"
    drop()  # which is no error


def test_an_old_review_is_taken_up_again():
    make(group("a"))
    make(group("b"))
    assert outputs(execute()) == {"Id": "b"}


def test_a_stack_that_exists_is_not_created_again():
    deploy_well(json.loads(group("a")))
    with pytest.raises(ClientError, match=r"Stack \[Muster\] already exists"):
        make(group("b"))


def test_a_stack_that_is_missing_is_not_updated():
    with pytest.raises(ClientError, match="does not exist"):
        make(group("b"), "UPDATE")


def test_a_failed_change_set_rolls_back():
    make(group({"Fn::Cidr": ["10.0.0.0/16", 1, 8]}))
    assert execute()["StackStatus"] == "ROLLBACK_COMPLETE"
    assert look()["ExecutionStatus"] == "EXECUTE_FAILED"
    with pytest.raises(ClientError, match="is in ROLLBACK_COMPLETE state and can not be updated"):
        make(group("b"), "UPDATE")


def test_previous_values_are_kept_and_new_parameters_have_their_default():
    client("ssm").put_parameter(Name="/p", Value="from-ssm", Type="String")
    typed = {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/p"}
    body = group({"Ref": "Name"}, Parameters={"Name": {"Type": "String"}, "Ssm": typed})
    make(body, Parameters=[{"ParameterKey": "Name", "ParameterValue": "a"}])
    execute()
    drop()
    extended = json.loads(body)
    extended["Parameters"]["Added"] = {"Type": "String", "Default": "x"}
    extended["Resources"]["Other"] = {
        "Type": "AWS::Logs::LogGroup",
        "Properties": {"LogGroupName": {"Fn::Join": ["-", [{"Ref": "Added"}, {"Ref": "Ssm"}]]}},
    }
    previous = [{"ParameterKey": key, "UsePreviousValue": True} for key in ("Name", "Ssm", "Added")]
    make(json.dumps(extended), "UPDATE", Parameters=previous)
    assert outputs(execute()) == {"Id": "a"}
    groups = {g["logGroupName"] for g in client("logs").describe_log_groups()["logGroups"]}
    assert groups == {"a", "x-from-ssm"}


def test_stock_moto_fails_on_a_previous_value_of_a_new_parameter():
    with patching.unfilled():
        make(group("a"))
        execute()
        drop()
        extended = group("b", Parameters={"Added": {"Type": "String", "Default": "x"}})
        with pytest.raises(KeyError, match="Added"):
            make(extended, "UPDATE", Parameters=[{"ParameterKey": "Added", "UsePreviousValue": True}])


def test_the_previous_template_may_be_used_again():
    body = group({"Ref": "Name"}, Parameters={"Name": {"Type": "String", "Default": "a"}})
    make(body)
    execute()
    drop()
    client("cloudformation").create_change_set(
        StackName="Muster",
        ChangeSetName=NAME,
        UsePreviousTemplate=True,
        Parameters=[{"ParameterKey": "Name", "ParameterValue": "b"}],
        Tags=[{"Key": "team", "Value": "vision"}],
    )
    stack = execute()
    assert outputs(stack) == {"Id": "b"}
    assert stack["Tags"] == [{"Key": "team", "Value": "vision"}]


def test_a_change_set_without_a_template_is_refused():
    with pytest.raises(ClientError, match="Either Template URL or Template Body must be specified"):
        client("cloudformation").create_change_set(
            StackName="New", ChangeSetName=NAME, ChangeSetType="CREATE"
        )
