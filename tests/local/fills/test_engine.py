"""A stack is what its template says, or has failed and says why."""

import json

import pytest
from botocore.exceptions import ClientError
from local_deploy import client, delete, deploy, deploy_well, describe, load, one, reasons, resources
from moto.cloudformation.models import cloudformation_backends

from muster_cli.local.fills import patching
from muster_cli.local.fills.cloudformation.resources import FILLS, Fill, Made, ReplacementError
from muster_cli.local.settings import ACCOUNT, REGION

pytestmark = pytest.mark.usefixtures("account")


def group(name=None, days=None, **more):
    properties = {"LogGroupName": name, "RetentionInDays": days}
    given = {key: value for key, value in properties.items() if value is not None}
    return {"Type": "AWS::Logs::LogGroup", "Properties": given, **more}


def template(**resources_by_id):
    return {"Resources": resources_by_id}


def log_groups():
    return {
        g["logGroupName"]: g.get("retentionInDays") for g in client("logs").describe_log_groups()["logGroups"]
    }


def statuses(name="Muster"):
    events = client("cloudformation").describe_stack_events(StackName=name)["StackEvents"]
    return [(e["LogicalResourceId"], e["ResourceStatus"]) for e in reversed(events)]


class Fragile(Fill):
    """A resource that fails as it is told to."""

    resource_type = "AWS::Test::Fragile"
    name_property = "Name"

    def create(self, site, name, properties):
        self.fail(properties, "create")
        return Made(name, {"Size": properties.get("Size", 0)})

    def update(self, site, resource, old, new):
        self.fail(new, "update")
        if new.get("Replace") != old.get("Replace"):
            raise ReplacementError
        return Made(resource.physical_resource_id, {"Size": new.get("Size", 0)})

    def delete(self, site, resource, properties):
        self.fail(properties, "delete")

    @staticmethod
    def fail(properties, step):
        if properties.get("Fails") == step:
            raise {"value": ValueError, "key": KeyError}[properties.get("With", "value")](f"no {step} today")


@pytest.fixture
def fragile(monkeypatch):
    monkeypatch.setitem(FILLS, Fragile.resource_type, Fragile())

    def make(**properties):
        more = properties.pop("more", {})
        return {"Type": Fragile.resource_type, "Properties": properties, **more}

    return make


# --- creation -----------------------------------------------------------------------------------


def test_every_resource_is_listed_with_its_physical_id():
    deploy_well(template(A=group("a"), B=group("b", DependsOn="A")))
    assert resources() == {"A": ("AWS::Logs::LogGroup", "a"), "B": ("AWS::Logs::LogGroup", "b")}


def test_events_tell_of_each_resource_in_order():
    deploy_well(template(A=group("a")))
    assert statuses() == [
        ("Muster", "CREATE_IN_PROGRESS"),
        ("A", "CREATE_IN_PROGRESS"),
        ("A", "CREATE_COMPLETE"),
        ("Muster", "CREATE_COMPLETE"),
    ]
    events = cloudformation_backends[ACCOUNT][REGION].get_stack("Muster").events
    times = [event.timestamp for event in events]
    assert times == sorted(set(times))


def test_a_refused_resource_fails_the_stack_with_its_reason_and_leaves_nothing(fragile):
    stack = deploy(template(A=group("a"), B=fragile(Fails="create", Of=[{"Ref": "A"}])))
    assert stack["StackStatus"] == "ROLLBACK_COMPLETE"
    assert reasons() == ["B CREATE_FAILED: no create today"]
    assert log_groups() == {}
    assert resources() == {}


def test_stock_moto_answers_a_python_error_with_a_fault():
    with patching.unfilled(), pytest.raises(KeyError):
        client("cloudformation").create_stack(
            StackName="Stock", TemplateBody=json.dumps(one("AWS::EC2::VPC"))
        )


def test_a_python_error_fails_the_stack(fragile):
    stack = deploy(template(A=fragile(Fails="create", With="key")))
    assert stack["StackStatus"] == "ROLLBACK_COMPLETE"
    assert reasons() == ["A CREATE_FAILED: Internal failure of the local cloud: KeyError: 'no create today'"]


def test_an_unknown_type_is_refused_by_name_where_stock_moto_skips_it():
    unknown = template(A=group("a"), B={"Type": "AWS::FSx::FileSystem"})
    with patching.unfilled(), pytest.warns(UserWarning, match="not supported"):
        assert deploy(unknown, "Stock")["StackStatus"] == "CREATE_COMPLETE"
    with pytest.raises(ClientError, match=r"Unrecognized resource types: \[AWS::FSx::FileSystem\]"):
        deploy(unknown)


def test_nested_stacks_are_refused_by_name():
    with pytest.raises(ClientError, match=r"Unrecognized resource types: \[AWS::CloudFormation::Stack\]"):
        deploy(one("AWS::CloudFormation::Stack", TemplateURL="https://example.com/t"))


def test_another_custom_resource_is_refused_by_name():
    with pytest.raises(ClientError, match=r"Unrecognized resource types: \[Custom::Mystery\]"):
        deploy(one("Custom::Mystery", ServiceToken="arn:aws:lambda:us-east-1:123456789012:function:f"))


def test_an_attribute_that_a_resource_lacks_fails_the_stack():
    lacking = one("AWS::Logs::LogGroup", ("Colour",))
    stack = deploy(lacking)
    assert stack["StackStatus"] == "ROLLBACK_COMPLETE"
    assert log_groups() == {}
    assert reasons() == []
    rollback = [e for e in events_of_stack() if e["ResourceStatus"] == "ROLLBACK_IN_PROGRESS"]
    assert rollback[0]["ResourceStatusReason"] == (
        "Output Colour: Template error: resource It does not support attribute type Colour in Fn::GetAtt"
    )


def events_of_stack():
    events = client("cloudformation").describe_stack_events(StackName="Muster")["StackEvents"]
    return [e for e in events if e["ResourceType"] == "AWS::CloudFormation::Stack"]


def test_a_function_that_is_not_carried_out_fails_the_stack():
    stack = deploy(template(A=group({"Fn::Cidr": ["10.0.0.0/16", 2, 8]})))
    assert stack["StackStatus"] == "ROLLBACK_COMPLETE"
    assert reasons() == [
        'A CREATE_FAILED: Template error: the local cloud cannot carry out {"Fn::Cidr": ["10.0.0.0/16", 2, 8]}'
    ]


def test_a_resource_behind_a_false_condition_is_not_made():
    conditional = {
        "Parameters": {"Make": {"Type": "String", "Default": "no"}},
        "Conditions": {"Wanted": {"Fn::Equals": [{"Ref": "Make"}, "yes"]}},
        "Resources": {"A": group("a"), "B": group("b", Condition="Wanted")},
        "Outputs": {"B": {"Value": {"Ref": "B"}, "Condition": "Wanted"}},
    }
    assert deploy_well(conditional) == {}
    assert log_groups() == {"a": None}


def test_what_refers_to_no_value_is_left_out():
    no_value = {"Ref": "AWS::NoValue"}
    with_none = one("AWS::Logs::LogGroup", LogGroupName="a", RetentionInDays=no_value, Tags=[no_value])
    deploy_well(with_none)
    assert log_groups() == {"a": None}


def test_failed_resources_stay_when_rollback_is_disabled(fragile):
    broken = template(A=group("a"), B=fragile(Fails="create", Of=[{"Ref": "A"}]))
    assert deploy(broken, DisableRollback=True)["StackStatus"] == "CREATE_FAILED"
    assert resources() == {"A": ("AWS::Logs::LogGroup", "a")}
    delete()
    assert log_groups() == {}


def test_a_rollback_that_fails_says_what_is_left(fragile):
    broken = template(A=fragile(Fails="delete"), B=fragile(Fails="create", Of=[{"Ref": "A"}]))
    assert deploy(broken)["StackStatus"] == "ROLLBACK_FAILED"
    assert list(resources()) == ["A"]


def test_a_second_stack_of_the_name_is_refused():
    deploy_well(template(A=group("a")))
    with pytest.raises(ClientError, match=r"Stack \[Muster\] already exists"):
        client("cloudformation").create_stack(
            StackName="Muster", TemplateBody=json.dumps(template(A=group("b")))
        )


def test_a_missing_ssm_parameter_is_a_sentence():
    parameter = {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/no/such"}
    with pytest.raises(ClientError, match=r"Unable to fetch parameters \[/no/such\]"):
        deploy({"Parameters": {"P": parameter}, **template(A=group("a"))})


def test_dynamic_references_are_looked_up():
    client("ssm").put_parameter(Name="/name", Value="from-ssm", Type="String")
    client("secretsmanager").create_secret(Name="secret", SecretString='{"group": "from-secret"}')
    deploy_well(
        template(
            A=group("{{resolve:ssm:/name}}"),
            B=group("x-{{resolve:secretsmanager:secret:SecretString:group::}}"),
        )
    )
    assert set(log_groups()) == {"from-ssm", "x-from-secret"}


def test_a_dynamic_reference_to_nothing_fails_the_stack():
    assert deploy(template(A=group("{{resolve:ssm:/no}}")))["StackStatus"] == "ROLLBACK_COMPLETE"
    assert reasons() == ["A CREATE_FAILED: Parameters: [/no] cannot be found."]


# --- update -------------------------------------------------------------------------------------


def test_only_what_changed_is_touched():
    deploy_well(template(A=group("a"), B=group("b", 7)))
    deploy_well(template(A=group("a"), B=group("b", 14)))
    assert log_groups() == {"a": None, "b": 14}
    touched = [name for name, status in statuses() if status == "UPDATE_COMPLETE"]
    assert touched == ["B", "Muster"]


def test_a_change_reaches_what_refers_to_it(fragile):
    def pair(size):
        return template(A=fragile(Size=size), B=fragile(Of={"Fn::GetAtt": ["A", "Size"]}))

    deploy_well(pair(1))
    deploy_well(pair(2))
    assert [name for name, status in statuses() if status == "UPDATE_COMPLETE"] == ["A", "B", "Muster"]


def test_removed_resources_go_and_new_ones_come():
    deploy_well(template(A=group("a"), B=group("b")))
    deploy_well(template(A=group("a"), C=group("c")))
    assert set(log_groups()) == {"a", "c"}
    assert set(resources()) == {"A", "C"}


def test_a_replaced_resource_is_deleted_after_the_new_one_is_there():
    deploy_well(template(A=group("a")))
    deploy_well(template(A=group("a2")))
    assert log_groups() == {"a2": None}
    order = [status for name, status in statuses() if name == "A"]
    assert order[-4:] == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE", "DELETE_IN_PROGRESS", "DELETE_COMPLETE"]


def test_a_replaced_resource_may_be_kept():
    deploy_well(template(A=group("a", UpdateReplacePolicy="Retain")))
    deploy_well(template(A=group("a2", UpdateReplacePolicy="Retain")))
    assert set(log_groups()) == {"a", "a2"}


def test_a_named_resource_cannot_be_replaced(fragile):
    deploy_well(template(A=fragile(Name="fixed", Replace=1)))
    assert deploy(template(A=fragile(Name="fixed", Replace=2)))["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert (
        "custom-named resource requires replacing. Rename fixed and update the stack again." in reasons()[0]
    )


def test_another_type_under_the_same_id_is_refused(fragile):
    deploy_well(template(A=group("a")))
    assert deploy(template(A=fragile()))["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert "Update of resource type is not permitted" in reasons()[0]


def test_a_failed_update_puts_everything_back(fragile):
    first = template(A=group("a", 7), R=fragile(Replace=1), Z=fragile())
    deploy_well(first)
    before = resources()
    broken = template(
        A=group("a", 14),
        N=group("new"),
        R=fragile(Replace=2),
        Z=fragile(Fails="update", more={"DependsOn": ["A", "N", "R"]}),
    )
    assert deploy(broken)["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert reasons() == ["Z UPDATE_FAILED: no update today"]
    assert log_groups() == {"a": 7}
    assert resources() == before
    body = client("cloudformation").get_template(StackName="Muster")["TemplateBody"]
    assert json.loads(json.dumps(body)) == first


def test_a_failed_update_may_stay_as_it_is(fragile):
    deploy_well(template(A=group("a", 7), Z=fragile()))
    broken = template(A=group("a", 14), Z=fragile(Fails="update", more={"DependsOn": "A"}))
    assert deploy(broken, DisableRollback=True)["StackStatus"] == "UPDATE_FAILED"
    assert log_groups() == {"a": 14}
    assert set(resources()) == {"A", "Z"}


def test_an_update_without_changes_is_refused():
    deploy_well(template(A=group("a")))
    with pytest.raises(ClientError, match=r"No updates are to be performed\."):
        deploy(template(A=group("a")))


def test_outputs_are_those_of_the_new_template():
    deploy_well(one("AWS::Logs::LogGroup", LogGroupName="a"))
    assert deploy_well(one("AWS::Logs::LogGroup", LogGroupName="b")) == {"Id": "b"}


# --- deletion -----------------------------------------------------------------------------------


def test_a_kept_resource_stays():
    deploy_well(template(A=group("a", DeletionPolicy="Retain"), B=group("b")))
    delete()
    assert log_groups() == {"a": None}


def test_a_deletion_that_fails_says_so_and_may_be_tried_again(fragile, monkeypatch):
    deploy_well(template(A=fragile(Fails="delete"), B=group("b")))
    delete()
    stack = describe()
    assert stack["StackStatus"] == "DELETE_FAILED"
    assert reasons()[-2:] == [
        "A DELETE_FAILED: no delete today",
        "Muster DELETE_FAILED: The following resource(s) failed to delete: [A].",
    ]
    assert log_groups() == {}
    monkeypatch.setattr(Fragile, "fail", staticmethod(lambda _properties, _step: None))
    delete()
    with pytest.raises(ClientError, match="does not exist"):
        describe()


def test_a_deleted_stack_is_found_by_its_id():
    stack_id = deploy(template(A=group("a")))["StackId"]
    delete()
    assert describe(stack_id)["StackStatus"] == "DELETE_COMPLETE"


def test_a_protected_stack_stays():
    deploy(template(A=group("a")), EnableTerminationProtection=True)
    with pytest.raises(ClientError, match="TerminationProtection is enabled"):
        delete()
    assert log_groups() == {"a": None}


def test_deleting_what_is_not_there_is_no_error():
    delete("Nobody")


# --- exports ------------------------------------------------------------------------------------


def exporting(value):
    return {
        **template(A=group(value)),
        "Outputs": {"O": {"Value": {"Ref": "A"}, "Export": {"Name": "shared"}}},
    }


def exports():
    return {e["Name"]: e["Value"] for e in client("cloudformation").list_exports()["Exports"]}


def test_exports_follow_the_stack_and_others_import_them():
    deploy_well(exporting("a"))
    assert exports() == {"shared": "a"}
    deploy_well(template(B=group({"Fn::Join": ["", [{"Fn::ImportValue": "shared"}, "-too"]]})), "Other")
    assert set(log_groups()) == {"a", "a-too"}
    deploy_well(exporting("a3"))
    assert exports() == {"shared": "a3"}
    delete()
    assert exports() == {}


def test_the_bootstrap_parameter_is_read(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(template(A=group("a"))))
    assert load(path) == template(A=group("a"))


# --- templates ----------------------------------------------------------------------------------


def test_a_template_may_be_yaml():
    body = "Resources:\n  A:\n    Type: AWS::Logs::LogGroup\n    Properties:\n      LogGroupName: !Sub '${AWS::StackName}-a'\n"
    client("cloudformation").create_stack(StackName="Muster", TemplateBody=body)
    assert log_groups() == {"Muster-a": None}


@pytest.mark.parametrize("body", ["[]", "{", "a: [", "just words"])
def test_what_is_no_template_is_refused(body):
    with pytest.raises(ClientError) as caught:
        client("cloudformation").create_stack(StackName="Muster", TemplateBody=body)
    assert caught.value.response["Error"]["Code"] == "ValidationError"


def test_a_secret_reference_without_a_key_is_the_whole_secret():
    client("secretsmanager").create_secret(Name="plain", SecretString="word")
    deploy_well(template(A=group("{{resolve:secretsmanager:plain}}")))
    assert log_groups() == {"word": None}
