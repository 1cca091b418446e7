"""What cdk-nag finds, by four packs, is exactly what the documentation's page gives a reason for."""

import json
import re

import aws_cdk as cdk
import cdk_nag
import pytest
from infra_synth import REPOSITORY, ZONE, app_module, context

from muster_cdk import TrainingMonitoring

PAGE = REPOSITORY / "docs" / "nag.md"
PACKS = {
    "AwsSolutions": ("AwsSolutions", cdk_nag.AwsSolutionsChecks),
    "HIPAA": ("HIPAA.Security", cdk_nag.HIPAASecurityChecks),
    "NIST": ("NIST.800.53.R5", cdk_nag.NIST80053R5Checks),
    "PCI": ("PCI.DSS.321", cdk_nag.PCIDSS321Checks),
}


def rows():
    """The page's table: construct path, id of the rule, reason."""
    found = re.findall(r"^\| `(.+?)` \| `(.+?)` \| (.+?) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    for path, rule, packs, reason in found:
        for pack in packs.split(", "):
            yield path, f"{PACKS[pack][0]}-{rule}", reason


def construct(stack, path):
    for part in path.split("/"):
        stack = stack.node.find_child(part)
    return stack


def nag(outdir, acknowledged):
    app = cdk.App(context=context(**{"muster:zone": ZONE}), outdir=str(outdir))
    stack = app_module().ReferenceStack(app, "Muster")
    cluster, train = stack.node.find_child("Cluster"), stack.node.find_child("Train")
    TrainingMonitoring(stack, "Monitoring", cluster=cluster, jobs=[train])
    for _, checks in PACKS.values():
        cdk.Validations.of(app).add_plugins(checks(app))
    for path, rule, reason in acknowledged:
        pack = next(name for name, _ in PACKS.values() if rule.startswith(f"{name}-"))
        acknowledgement = cdk.Acknowledgment(id=f"{pack}::{rule}", reason=reason)
        cdk.Validations.of(construct(stack, path)).acknowledge(acknowledgement)
    app.synth()


def test_every_pack_is_content_with_what_the_page_gives_a_reason_for(tmp_path):
    nag(tmp_path, rows())


def test_every_row_of_the_page_is_needed_and_none_is_missing(tmp_path):
    with pytest.raises(RuntimeError, match=r"^Validation ?[Ff]ailed"):
        nag(tmp_path, [])
    reports = json.loads((tmp_path / "validation-report.json").read_text())["pluginReports"]
    assert [each["pluginName"] for each in reports] == [name for name, _ in PACKS.values()]
    found = [
        (place["constructPath"].removeprefix("Muster/"), violation["ruleName"])
        for report in reports
        for violation in report["violations"]
        for place in violation["violatingConstructs"]
    ]
    assert sorted(found) == sorted((path, rule) for path, rule, _ in rows())
