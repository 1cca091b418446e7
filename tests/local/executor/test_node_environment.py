"""Batch's variables, exactly; and what else a node is told."""

import json
import os

import pytest
from botocore.exceptions import ClientError

from muster_cli.local.executor.environment import NodeIdentity, batch_variables, node_environment
from muster_cli.local.executor.plan import thread_share

SHOW = (
    "say(json.dumps(dict(os.environ))); mark(f'shown{node}')\nif main: [wait(f'shown{i}') for i in range(3)]"
)
IDENTITY = NodeIdentity("id", 1, "ce", "jq", num_nodes=3, main_address="10.0.0.1")


def test_main_node():
    assert batch_variables(IDENTITY) == {
        "AWS_BATCH_JOB_ID": "id",
        "AWS_BATCH_JOB_ATTEMPT": "1",
        "AWS_BATCH_CE_NAME": "ce",
        "AWS_BATCH_JQ_NAME": "jq",
        "AWS_BATCH_JOB_NODE_INDEX": "0",
        "AWS_BATCH_JOB_MAIN_NODE_INDEX": "0",
        "AWS_BATCH_JOB_NUM_NODES": "3",
    }


def test_child():
    assert batch_variables(IDENTITY._replace(node=2, attempt=3)) == {
        "AWS_BATCH_JOB_ID": "id#2",
        "AWS_BATCH_JOB_ATTEMPT": "3",
        "AWS_BATCH_CE_NAME": "ce",
        "AWS_BATCH_JQ_NAME": "jq",
        "AWS_BATCH_JOB_NODE_INDEX": "2",
        "AWS_BATCH_JOB_MAIN_NODE_INDEX": "0",
        "AWS_BATCH_JOB_NUM_NODES": "3",
        "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": "10.0.0.1",
    }


def test_container_job():
    assert batch_variables(IDENTITY._replace(multinode=False)) == {
        "AWS_BATCH_JOB_ID": "id",
        "AWS_BATCH_JOB_ATTEMPT": "1",
        "AWS_BATCH_CE_NAME": "ce",
        "AWS_BATCH_JQ_NAME": "jq",
    }


def test_who_wins():
    cloud = {"AWS_ENDPOINT_URL": "here", "AWS_REGION": "r", "AWS_DEFAULT_REGION": "r"}
    user = {
        "B": "user",
        "C": "user",
        "AWS_ENDPOINT_URL": "out",
        "AWS_ENDPOINT_URL_S3": "out",
        "AWS_PROFILE": "mine",
        "AWS_REGION": "eu-west-1",
        "OWN": "user",
    }
    assert node_environment(
        base={"A": "base", "B": "base"},
        image={"B": "image"},
        user=user,
        secrets={"C": "secret"},
        cloud=cloud,
        own={"OWN": "batch"},
    ) == {
        "A": "base",
        "B": "user",
        "C": "secret",
        "AWS_ENDPOINT_URL": "here",
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "r",
        "OWN": "batch",
    }


def test_real_nodes(cloud, monkeypatch):
    monkeypatch.setenv("OF_THE_SERVER", "no")
    cloud.images["image"].environment = {"OF_THE_IMAGE": "yes", "PATH": "/opt/image/bin"}
    job_id = cloud.start(SHOW, nodes=3, main=1, environment=[{"name": "OF_THE_JOB", "value": "yes"}])
    assert cloud.wait(job_id)["status"] == "SUCCEEDED"
    shown = cloud.environments(job_id, 3)
    batch = [{k: v for k, v in item.items() if k.startswith("AWS_BATCH")} for item in shown]
    address = cloud.node(job_id, 1)["container"]["networkInterfaces"][0]["privateIpv4Address"]
    common = {
        "AWS_BATCH_JOB_ATTEMPT": "1",
        "AWS_BATCH_CE_NAME": "queue-ce",
        "AWS_BATCH_JQ_NAME": "queue",
        "AWS_BATCH_JOB_MAIN_NODE_INDEX": "1",
        "AWS_BATCH_JOB_NUM_NODES": "3",
    }
    main_address = {"AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": address}
    assert batch == [
        {**common, **main_address, "AWS_BATCH_JOB_ID": f"{job_id}#0", "AWS_BATCH_JOB_NODE_INDEX": "0"},
        {**common, "AWS_BATCH_JOB_ID": job_id, "AWS_BATCH_JOB_NODE_INDEX": "1"},
        {**common, **main_address, "AWS_BATCH_JOB_ID": f"{job_id}#2", "AWS_BATCH_JOB_NODE_INDEX": "2"},
    ]
    for item in shown:
        assert "OF_THE_SERVER" not in item
        assert item["OF_THE_IMAGE"] == item["OF_THE_JOB"] == "yes"
        assert item["PATH"].endswith("/bin:/opt/image/bin"), "the interpreter's folder comes first"
        assert item["AWS_ENDPOINT_URL"] == "http://127.0.0.1:40000"
        assert int(item["OMP_NUM_THREADS"]) == max(1, os.cpu_count() // 3)
        assert item["HOME"].startswith(str(cloud.executor.shared.jobs))


@pytest.mark.parametrize(
    ("cpus", "nodes", "accelerators", "expected"), [(2, 2, 0, 1), (16, 2, 0, 8), (16, 2, 8, 1), (16, 1, 4, 4)]
)
def test_threads_are_shared_out(monkeypatch, cpus, nodes, accelerators, expected):
    monkeypatch.setattr(os, "cpu_count", lambda: cpus)
    assert thread_share(nodes, accelerators) == expected


def test_the_jobs_own_threads_win(cloud):
    own = [{"name": "OMP_NUM_THREADS", "value": "77"}]
    job_id = cloud.start("say(os.environ['OMP_NUM_THREADS'])", nodes=1, environment=own)
    cloud.wait(job_id)
    assert cloud.lines(job_id, 0) == ["77"]


def test_overrides_reach_the_nodes_of_their_range(cloud):
    cloud.queue()
    program = "say(os.environ['WHO']); mark(f'shown{node}')\nif main: [wait(f'shown{i}') for i in range(3)]"
    container = cloud.container(program, environment=[{"name": "WHO", "value": "definition"}])
    cloud.register({"0:0": container, "1:": container})
    override = {"containerOverrides": {"environment": [{"name": "WHO", "value": "submission"}]}}
    job_id = cloud.submit(
        nodeOverrides={"numNodes": 3, "nodePropertyOverrides": [{"targetNodes": "1:", **override}]}
    )
    assert cloud.wait(job_id)["status"] == "SUCCEEDED"
    assert [cloud.lines(job_id, n) for n in range(3)] == [["definition"], ["submission"], ["submission"]]


def test_parameters_fill_the_command(cloud):
    cloud.queue()
    command = ["python", "-c", "import sys; print(sys.argv[1:])", "Ref::a", "x=Ref::b", "Ref::c"]
    cloud.register({"0:": cloud.container(command)}, nodes=1, parameters={"a": "1", "b": "2"})
    job_id = cloud.submit(parameters={"b": "3"})
    cloud.wait(job_id)
    assert cloud.lines(job_id, 0) == ["['1', 'x=3', 'Ref::c']"]


def test_secrets(cloud):
    import boto3

    manager, parameters = boto3.client("secretsmanager", "us-east-1"), boto3.client("ssm", "us-east-1")
    plain = manager.create_secret(Name="plain", SecretString="one")["ARN"]
    keyed = manager.create_secret(Name="keyed", SecretString=json.dumps({"key": "two"}))["ARN"]
    parameters.put_parameter(Name="/a/b", Value="three", Type="SecureString")
    sources = {
        "PLAIN": plain,
        "KEYED": f"{keyed}:key::",
        "STAGED": f"{plain}::AWSCURRENT:",
        "NAMED": "/a/b",
        "BY_ARN": "arn:aws:ssm:us-east-1:123456789012:parameter/a/b",
    }
    secrets = [{"name": name, "valueFrom": source} for name, source in sources.items()]
    program = f"say([os.environ[name] for name in {list(sources)}])"
    job_id = cloud.start(program, nodes=1, secrets=secrets)
    cloud.wait(job_id)
    assert cloud.lines(job_id, 0) == ["['one', 'two', 'one', 'three', 'three']"]


@pytest.mark.parametrize(
    "source",
    [
        "arn:aws:secretsmanager:us-east-1:123456789012:secret:none-abcdef",
        "/no/such/parameter",
        "KEY",
    ],
)
def test_a_secret_that_does_not_exist(cloud, source):
    if source == "KEY":
        import boto3

        manager = boto3.client("secretsmanager", "us-east-1")
        source = manager.create_secret(Name="keyed", SecretString="{}")["ARN"] + ":key::"
    job_id = cloud.start("pass", secrets=[{"name": "A", "valueFrom": source}])
    job = cloud.wait(job_id)
    assert (job["status"], job["statusReason"]) == ("FAILED", "Task failed to start")
    assert cloud.node(job_id, 0)["container"]["reason"].startswith(
        "ResourceInitializationError: unable to pull secrets or registry auth:"
        f" unable to retrieve secret {source}: "
    )


def test_reserved_names_are_refused(cloud):
    cloud.queue()
    cloud.register({"0:": cloud.container("pass")})
    override = {"containerOverrides": {"environment": [{"name": "AWS_BATCH_JOB_ID", "value": "x"}]}}
    with pytest.raises(ClientError, match='cannot start with "AWS_BATCH", got AWS_BATCH_JOB_ID'):
        cloud.submit(nodeOverrides={"nodePropertyOverrides": [{"targetNodes": "0:", **override}]})
