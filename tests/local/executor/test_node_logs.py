"""Every node's output in CloudWatch Logs, where the definition wants it."""

import threading

import pytest
from moto.core.utils import unix_time_millis

from muster_cli.local.executor.logs import LogTarget, LogWriter, log_target


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({}, LogTarget("/aws/batch/job", "train/default/id", True)),
        (
            {"logConfiguration": {"logDriver": "awslogs"}},
            LogTarget("/aws/batch/job", "train/default/id", True),
        ),
        (
            {"logConfiguration": {"options": {"awslogs-group": "mine"}}},
            LogTarget("mine", "train/default/id", False),
        ),
        (
            {
                "logConfiguration": {
                    "options": {
                        "awslogs-group": "mine",
                        "awslogs-stream-prefix": "run",
                        "awslogs-create-group": "true",
                    }
                }
            },
            LogTarget("mine", "run/default/id", True),
        ),
    ],
)
def test_targets(container, expected):
    assert log_target(container, "train", "id") == expected


def test_a_long_name_is_cut():
    assert log_target({}, "x" * 300, "id").stream == "x" * 200 + "/default/id"


def test_a_stream_per_node_in_the_definitions_own_group(cloud):
    cloud.logs.create_log_group(logGroupName="/mine")
    program = "say('node', node); mark('up') if node else wait('up')"
    options = {"awslogs-group": "/mine"}
    job_id = cloud.start(program, logConfiguration={"logDriver": "awslogs", "options": options})
    cloud.wait(job_id)
    streams = cloud.logs.describe_log_streams(logGroupName="/mine")["logStreams"]
    named = {cloud.node(job_id, n)["container"]["logStreamName"] for n in (0, 1)}
    assert {stream["logStreamName"] for stream in streams} == named
    for index in (0, 1):
        assert cloud.lines(job_id, index, "/mine") == [f"node {index}"]
        stream = cloud.node(job_id, index)["container"]["logStreamName"]
        prefix, middle, task = stream.split("/")
        assert (prefix, middle) == ("train", "default")
        assert cloud.node(job_id, index)["container"]["taskArn"].endswith(f"/{task}")


def test_lines_come_while_the_node_runs(cloud):
    job_id = cloud.start("say('first'); wait('go'); say('second')", nodes=1)
    cloud.until(lambda: cloud.node(job_id, 0)["container"].get("logStreamName"), "a stream")
    cloud.until(lambda: cloud.lines(job_id, 0) == ["first"], "a line of a running node")
    cloud.mark("go")
    cloud.wait(job_id)
    assert cloud.lines(job_id, 0) == ["first", "second"]


def test_all_lines_are_there_when_the_job_is_over(cloud):
    program = """
for i in range(20_000): print(i)
sys.stderr.write("to stderr\\n")
sys.stdout.flush()
os.write(1, "no end of line \\u00e9 \\xff".encode("latin-1", "replace"))
"""
    job_id = cloud.start(program, nodes=1)
    cloud.wait(job_id)
    stream = cloud.node(job_id, 0)["container"]["logStreamName"]
    events = cloud.backend.logs_backend.groups["/aws/batch/job"].streams[stream].events
    messages = [event.message for event in events]
    assert [message for message in messages if message.isdigit()] == [str(i) for i in range(20_000)]
    assert "to stderr" in messages
    assert messages[-1] == "no end of line \ufffd \ufffd"
    times = [event.timestamp for event in events]
    assert times == sorted(times)


def test_empty_lines_and_carriage_returns(cloud):
    job_id = cloud.start(["printf", r"a\n\nb\r\n \n"], nodes=1)
    cloud.wait(job_id)
    assert cloud.lines(job_id, 0) == ["a", "b", " "]


def test_a_line_beyond_the_limit_is_split(cloud):
    job_id = cloud.start("print('x' * 600_000)", nodes=1)
    cloud.wait(job_id)
    stream = cloud.node(job_id, 0)["container"]["logStreamName"]
    messages = [
        event.message for event in cloud.backend.logs_backend.groups["/aws/batch/job"].streams[stream].events
    ]
    assert "".join(messages) == "x" * 600_000
    assert max(map(len, messages)) <= 262_144


def test_no_such_group(cloud):
    configuration = {"logDriver": "awslogs", "options": {"awslogs-group": "/none"}}
    job_id = cloud.start("pass", nodes=1, logConfiguration=configuration)
    job = cloud.wait(job_id)
    assert job["statusReason"] == "Task failed to start"
    assert job["attempts"][0]["container"]["reason"] == (
        "CannotStartContainerError: failed to initialize logging driver: failed to create Cloudwatch log stream:"
        " ResourceNotFoundException: The specified log group does not exist: /none"
    )


def test_a_fault_in_the_mock_loses_lines_but_holds_up_nobody(cloud, monkeypatch):
    from moto.logs.models import LogStream

    def broken(*_):
        raise RuntimeError("a subscription's")

    monkeypatch.setattr(LogStream, "put_log_events", broken)
    job_id = cloud.start("print('x' * 1_000_000)", nodes=1)
    assert cloud.wait(job_id)["status"] == "SUCCEEDED"


def test_event_ids_are_unique_over_threads(cloud):
    backend = cloud.backend.logs_backend
    writers = [LogWriter(backend, LogTarget("/ids", f"{n}", True)) for n in range(4)]
    threads = [
        threading.Thread(target=lambda writer=writer: [writer.write([b"x"]) for _ in range(500)])
        for writer in writers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = [event.event_id for stream in backend.groups["/ids"].streams.values() for event in stream.events]
    assert len(ids) == len(set(ids)) == 2000
    assert unix_time_millis() > 0
