"""What is asked of CDK once, and what is written without it, is the same as CDK's."""

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct
from infra_synth import stack

from muster_cdk.coercion import to_duration
from muster_cdk.paths import path_of, path_within_stack, stack_of
from muster_cdk.user_data import archive


def test_paths_and_stacks_are_cdks(tmp_path):
    app = stack(tmp_path).node.root
    scope = cdk.Stack(cdk.Stage(app, "Prod"), "Inner")
    inner = Construct(Construct(scope, "Team"), "Train")
    for _ in range(2):
        assert path_of(inner) == inner.node.path == "Prod/Inner/Team/Train"
        assert stack_of(inner) is scope
        assert path_within_stack(inner) == "Team/Train"


def test_the_mime_archive_is_cdks():
    bodies = [("text/x-shellscript", "#!/bin/sh\necho\n"), ('text/cloud-boothook; charset="us-ascii"', "a")]
    theirs = ec2.MultipartUserData()
    for kind, body in bodies:
        theirs.add_part(ec2.MultipartBody.from_raw_body(content_type=kind, body=body))
    assert archive(bodies) == theirs.render()


def test_the_same_text_is_the_same_duration():
    assert to_duration("1h", "timeout") is to_duration("60m", "timeout")
    assert to_duration("1h", "timeout").to_seconds() == 3600
