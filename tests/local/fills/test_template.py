"""What a template says before anything is made."""

import pytest

from muster_cli.local.fills.cloudformation.template import TemplateError, check, creation_order, references


def resource(*needs, depends_on=None):
    definition = {"Type": "A::B::C", "Properties": {"X": [{"Ref": name} for name in needs]}}
    return definition if depends_on is None else {**definition, "DependsOn": depends_on}


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ({"Ref": "A"}, {"A"}),
        ({"Fn::GetAtt": ["A", "Arn"]}, {"A"}),
        ({"Fn::GetAtt": "A.Arn"}, {"A"}),
        ({"Fn::Sub": "x-${A}-${B.Arn}-${!literal}"}, {"A", "B"}),
        ({"Fn::Sub": ["${A}-${Own}", {"Own": {"Ref": "C"}}]}, {"A", "C"}),
        ({"Fn::Join": ["", [{"Ref": "A"}, "b", {"Ref": "AWS::Region"}]]}, {"A", "AWS::Region"}),
        ({"Ref": {"not": "a reference"}}, set()),
        ("plain", set()),
    ],
)
def test_references(value, names):
    assert references(value) == names


def test_each_resource_comes_after_what_it_needs():
    template = {
        "Resources": {
            "Last": resource("Middle", "Parameter"),
            "Middle": resource(depends_on="First"),
            "First": resource(depends_on=["Alone"]),
            "Alone": resource(),
        }
    }
    assert creation_order(template) == ["Alone", "First", "Middle", "Last"]


def test_a_circle_is_refused():
    with pytest.raises(TemplateError, match=r"Circular dependency between resources: \[A, B\]"):
        creation_order({"Resources": {"A": resource("B"), "B": resource("A"), "C": resource()}})


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ({}, "Template format error: At least one Resources member must be defined."),
        (
            {"Resources": {"A": {"Type": "AWS::No::Such"}, "B": {"Type": "AWS::FSx::FileSystem"}}},
            (
                "Template format error: Unrecognized resource types: [AWS::FSx::FileSystem, AWS::No::Such] "
                "(Muster's local cloud)"
            ),
        ),
        (
            {"Resources": {"A": resource("Nowhere")}},
            "Template format error: Unresolved resource dependencies [Nowhere] in the Resources block of the template",
        ),
        (
            {"Resources": {"A": resource()}, "Outputs": {"O": {"Value": {"Ref": "Gone"}}}},
            "Template format error: Unresolved resource dependencies [Gone] in the Outputs block of the template",
        ),
    ],
)
def test_a_template_that_cannot_be_deployed_is_refused(template, message):
    with pytest.raises(TemplateError) as caught:
        check(template, lambda name: name == "A::B::C")
    assert str(caught.value) == message


def test_parameters_and_pseudo_parameters_are_no_resources():
    template = {
        "Parameters": {"P": {"Type": "String"}},
        "Resources": {"A": resource("P", "AWS::StackName")},
        "Outputs": None,
    }
    check(template, lambda _name: True)
