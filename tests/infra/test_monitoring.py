"""Monitoring: alarms, notifications, dashboard, what is counted, who may count."""

import json
import re

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from cfnlint.api import lint
from cfnlint.config import ManualArgs
from infra_synth import IMAGE, ZONE, problems_of, stack, template_of
from moto.events.models import EventPattern

from muster_cdk import GpuCluster, Launcher, MultiNodeTrainingJob, TrainingMonitoring
from muster_cdk.monitoring import FAILED_PATTERN, blocked_pattern, failed_pattern
from muster_core.contract import OUTCOME_FAILED, OUTCOME_SUCCEEDED, OUTCOME_TERMINATED
from muster_runtime.agent.verdict import verdict_line

QUEUE = "arn:aws:batch:us-east-1:123456789012:job-queue/Queue-abc"
JOB = "4c7599ae-0a82-49aa-ba5a-4727fcce14a8"
ALARMS = ("BlockedQueue", "FailedJobs", "IdleHosts", "WaitingJob", "WatcherFailure")


def nothing(scope, cluster):
    return {}


def made(tmp_path, prepare=nothing, cluster=None, **more):
    scope = stack(tmp_path)
    watched = GpuCluster(
        scope, "Cluster", instance_type="g6.8xlarge", max_nodes=2, availability_zone=ZONE, **(cluster or {})
    )
    return TrainingMonitoring(scope, "Monitoring", cluster=watched, **prepare(scope, watched), **more)


def job(scope, cluster, id="Train"):
    return MultiNodeTrainingJob(
        scope, id, cluster=cluster, nodes=2, image=IMAGE, launcher=Launcher.torch("train.py")
    )


def with_job(scope, cluster):
    return {"jobs": [job(scope, cluster)]}


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    monitoring = made(tmp_path_factory.mktemp("cdk"), with_job, emails=["ml@example.com"])
    return template_of(cdk.Stack.of(monitoring))


def alarms(template):
    found = template.of("AWS::CloudWatch::Alarm").items()
    return {
        re.fullmatch(r"Monitoring(\w+?)[0-9A-F]{8}", name).group(1): each["Properties"]
        for name, each in found
    }


def resource(template, kind, part):
    (found,) = [each for name, each in template.of(kind).items() if part in name]
    return found["Properties"]


def test_there_is_an_alarm_for_each_silent_mistake(template):
    found = alarms(template)
    assert set(found) == set(ALARMS)
    (topic,) = template.of("AWS::SNS::Topic")
    for name, each in found.items():
        assert each["AlarmActions"] == [{"Ref": topic}], name
        assert each["TreatMissingData"] == "notBreaching"
        assert each["AlarmDescription"].endswith(" (Test/Cluster)")
        assert each["Period"] == 300


def test_events_are_counted_by_rules_of_the_default_bus(template):
    (queue,) = template.of("AWS::Batch::JobQueue")
    arn = {"Fn::GetAtt": [queue, "JobQueueArn"]}
    found = alarms(template)
    for name, pattern in {
        "BlockedQueue": blocked_pattern(QUEUE),
        "FailedJobs": failed_pattern(QUEUE),
    }.items():
        (rule,) = [each for each in template.of("AWS::Events::Rule") if each.startswith(f"Monitoring{name}")]
        emitted = template["Resources"][rule]["Properties"]
        expected = json.loads(json.dumps(pattern).replace(json.dumps(QUEUE), json.dumps(arn)))
        assert emitted["EventPattern"] == expected
        assert (emitted["State"], found[name]["Threshold"], found[name]["EvaluationPeriods"]) == (
            "ENABLED",
            1,
            1,
        )
        assert found[name]["Dimensions"] == [{"Name": "RuleName", "Value": {"Ref": rule}}]
        assert (found[name]["Namespace"], found[name]["MetricName"], found[name]["Statistic"]) == (
            "AWS/Events",
            "MatchedEvents",
            "Sum",
        )


def test_hosts_and_waits_are_the_function_s_metrics(template):
    found = alarms(template)
    for name, metric, threshold, periods in (
        ("IdleHosts", "IdleHosts", 1, 6),
        ("WaitingJob", "HeadOfQueueWait", 1800, 1),
    ):
        each = found[name]
        assert each["Dimensions"] == [{"Name": "Cluster", "Value": "Test/Cluster"}]
        assert (each["Namespace"], each["MetricName"], each["Threshold"], each["EvaluationPeriods"]) == (
            "Muster",
            metric,
            threshold,
            periods,
        )
    watcher = found["WatcherFailure"]
    assert (watcher["Namespace"], watcher["MetricName"], watcher["EvaluationPeriods"]) == (
        "AWS/Lambda",
        "Errors",
        3,
    )


def test_the_tag_that_is_counted_is_the_hosts(template):
    (specifications,) = [
        each["TagSpecifications"] for each in [template.one("AWS::EC2::LaunchTemplate")["LaunchTemplateData"]]
    ]
    (tags,) = [each["Tags"] for each in specifications if each["ResourceType"] == "instance"]
    variables = resource(template, "AWS::Lambda::Function", "Watcher")["Environment"]["Variables"]
    assert {"Key": variables["TAG"], "Value": variables["CLUSTER"]} in tags
    assert (variables["MIN_NODES"], variables["NAMESPACE"]) == ("0", "Muster")


def test_the_function_may_look_and_count_and_nothing_else(template):
    role = resource(template, "AWS::IAM::Role", "WatcherRole")
    assert "ManagedPolicyArns" not in role
    (inline,) = role["Policies"]
    (queue,) = template.of("AWS::Batch::JobQueue")
    (log,) = [name for name in template.of("AWS::Logs::LogGroup") if "WatcherLog" in name]
    written = resource(template, "AWS::IAM::Policy", "WatcherRole")["PolicyDocument"]["Statement"]
    found = {
        json.dumps(each["Action"]): (each["Resource"], each.get("Condition"))
        for each in [*inline["PolicyDocument"]["Statement"], *written]
    }
    assert found == {
        '"batch:GetJobQueueSnapshot"': ({"Fn::GetAtt": [queue, "JobQueueArn"]}, None),
        '["batch:ListJobs", "ec2:DescribeInstances"]': ("*", None),
        '"cloudwatch:PutMetricData"': ("*", {"StringEquals": {"cloudwatch:namespace": "Muster"}}),
        '["logs:CreateLogStream", "logs:PutLogEvents"]': ({"Fn::GetAtt": [log, "Arn"]}, None),
    }


def test_the_function_runs_every_five_minutes(template):
    rule = resource(template, "AWS::Events::Rule", "Schedule")
    (function,) = [name for name in template.of("AWS::Lambda::Function") if "Watcher" in name]
    assert rule["ScheduleExpression"] == "rate(5 minutes)"
    assert [each["Arn"] for each in rule["Targets"]] == [{"Fn::GetAtt": [function, "Arn"]}]
    permission = template.one("AWS::Lambda::Permission")
    assert (permission["Principal"], permission["Action"]) == (
        "events.amazonaws.com",
        "lambda:InvokeFunction",
    )
    properties = template["Resources"][function]["Properties"]
    assert len(properties["Code"]["ZipFile"]) <= 4096
    assert properties["Handler"] == "index.handler"
    assert resource(template, "AWS::Logs::LogGroup", "WatcherLog")["RetentionInDays"] == 30


def test_the_topic_is_encrypted_speaks_tls_only_and_lets_alarms_of_the_account_in(template):
    (key,) = template.of("AWS::KMS::Key")
    assert template.one("AWS::SNS::Topic")["KmsMasterKeyId"] == {"Fn::GetAtt": [key, "Arn"]}
    assert template.one("AWS::KMS::Key")["EnableKeyRotation"] is True
    account = {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    service = {"Service": "cloudwatch.amazonaws.com"}
    _, used = template.one("AWS::KMS::Key")["KeyPolicy"]["Statement"]
    assert (used["Action"], used["Principal"], used["Condition"]) == (
        ["kms:Decrypt", "kms:GenerateDataKey*"],
        service,
        account,
    )
    denied, allowed = template.one("AWS::SNS::TopicPolicy")["PolicyDocument"]["Statement"]
    assert (denied["Effect"], denied["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
    assert (allowed["Action"], allowed["Principal"], allowed["Condition"]) == (
        "sns:Publish",
        service,
        account,
    )
    subscription = template.one("AWS::SNS::Subscription")
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "ml@example.com")


def test_failed_attempts_are_counted_in_the_job_s_log(template):
    properties = template.one("AWS::Logs::MetricFilter")
    (log,) = [name for name in template.of("AWS::Logs::LogGroup") if name.startswith("Train")]
    assert properties["LogGroupName"] == {"Ref": log}
    assert properties["FilterPattern"] == FAILED_PATTERN
    (metric,) = properties["MetricTransformations"]
    assert (metric["MetricNamespace"], metric["MetricName"], metric["MetricValue"]) == (
        "Muster",
        "FailedAttempts Test/Train",
        "1",
    )


def test_the_dashboard_shows_alarms_hosts_and_verdicts(template):
    body = template.one("AWS::CloudWatch::Dashboard")["DashboardBody"]
    text = "".join(part if isinstance(part, str) else "x" for part in body["Fn::Join"][1])
    titles = [each["properties"]["title"] for each in json.loads(text)["widgets"]]
    assert titles == [
        "Alarms",
        "Hosts and jobs",
        "Wait at the head",
        "Blocked, failed, failed attempts",
        "Verdicts",
    ]
    assert "muster.verdict" in text
    assert "DashboardName" not in template.one("AWS::CloudWatch::Dashboard")


def test_cfn_lint_has_nothing_to_say(template):
    found = lint(json.dumps(template), config=ManualArgs(regions=["us-east-1"]))
    # The zone is meant; CDK's functions depend on their roles twice.
    assert [str(match) for match in found if match.rule.id not in {"W3010", "W3005"}] == []


def test_every_option_reaches_the_template(tmp_path):
    key_arn = "arn:aws:kms:us-east-1:123456789012:key/1"
    monitoring = made(
        tmp_path,
        lambda scope, _: {"encryption_key": kms.Key.from_key_arn(scope, "Key", key_arn)},
        cluster={"min_nodes": 2, "acknowledge_idle_cost": True},
        idle_after="1h",
        runnable_after=cdk.Duration.hours(2),
        dashboard=False,
        log_retention=logs.RetentionDays.ONE_YEAR,
        permissions_boundary="arn:aws:iam::123456789012:policy/bound",
    )
    found = template_of(cdk.Stack.of(monitoring))
    assert alarms(found)["IdleHosts"]["EvaluationPeriods"] == 12
    assert alarms(found)["WaitingJob"]["Threshold"] == 7200
    assert monitoring.dashboard is None
    assert found.of("AWS::CloudWatch::Dashboard") == found.of("AWS::KMS::Key") == {}
    assert found.of("AWS::Logs::MetricFilter") == found.of("AWS::SNS::Subscription") == {}
    assert found.one("AWS::SNS::Topic")["KmsMasterKeyId"] == key_arn
    assert resource(found, "AWS::Logs::LogGroup", "WatcherLog")["RetentionInDays"] == 365
    role = resource(found, "AWS::IAM::Role", "WatcherRole")
    assert role["PermissionsBoundary"] == "arn:aws:iam::123456789012:policy/bound"
    variables = resource(found, "AWS::Lambda::Function", "Watcher")["Environment"]["Variables"]
    assert variables["MIN_NODES"] == "2"


def test_a_topic_of_yours_is_left_alone(tmp_path):
    arn = "arn:aws:sns:us-east-1:123456789012:mine"
    monitoring = made(tmp_path, lambda scope, _: {"topic": sns.Topic.from_topic_arn(scope, "Mine", arn)})
    found = template_of(cdk.Stack.of(monitoring))
    assert [each["AlarmActions"] for each in alarms(found).values()] == [[arn]] * len(ALARMS)
    assert found.of("AWS::SNS::Topic") == found.of("AWS::SNS::TopicPolicy") == found.of("AWS::KMS::Key") == {}
    assert [each.alarm_name for each in monitoring.alarms]


def test_all_problems_come_at_once(tmp_path):
    def prepare(scope, cluster):
        other = GpuCluster(scope, "Other", instance_type="g6.8xlarge", max_nodes=2, vpc=cluster.vpc)
        return {"jobs": [job(scope, other)], "idle_after": "7m", "runnable_after": "2d"}

    found = problems_of(cdk.Stack.of(made(tmp_path, prepare)))
    assert [each.partition("] ")[2].split()[0] for each in found] == ["idle_after", "runnable_after", "jobs"]


@pytest.mark.parametrize(
    ("options", "kind", "sentence"),
    [
        (
            {"jobs": ["train"]},
            TypeError,
            "jobs must be a list of MultiNodeTrainingJob, got list ['train']; change it",
        ),
        (
            {"topic": "arn"},
            TypeError,
            "topic must be an sns.ITopic such as sns.Topic, got str 'arn'; change it",
        ),
        (
            {"encryption_key": "arn"},
            TypeError,
            "encryption_key must be a kms.IKey such as kms.Key, got str 'arn'; change it",
        ),
        (
            {"idle_after": cdk.Duration.seconds(cdk.Token.as_number({"Ref": "Idle"}))},
            ValueError,
            "idle_after must be known at synth, got a token; give a duration such as '30m'",
        ),
        ({"dashboard": 1}, TypeError, "dashboard must be True or False, got int 1; change it"),
        (
            {"emails": "ml@example.com"},
            TypeError,
            "emails must be a list of str, got str 'ml@example.com'; change it",
        ),
    ],
)
def test_wrong_arguments_get_their_sentence(tmp_path, options, kind, sentence):
    with pytest.raises(kind) as caught:
        made(tmp_path, **options)
    assert str(caught.value) == sentence


def test_something_that_is_no_cluster(tmp_path):
    with pytest.raises(TypeError, match=r"^cluster must be a GpuCluster, got str 'Cluster'; change it$"):
        TrainingMonitoring(stack(tmp_path), "Monitoring", cluster="Cluster")


def test_others_may_publish_to_the_topic_and_read_the_metrics(tmp_path):
    monitoring = made(tmp_path, with_job)
    scope = cdk.Stack.of(monitoring)
    role = iam.Role(scope, "Role", assumed_by=iam.AccountRootPrincipal())
    monitoring.topic.grant_subscribe(role)
    assert monitoring.metric("Hosts").dimensions == {"Cluster": "Test/Cluster"}
    (train,) = [each for each in scope.node.find_all() if isinstance(each, MultiNodeTrainingJob)]
    assert monitoring.metric_failed_attempts(train).metric_name == "FailedAttempts Test/Train"


# --- events, as the Batch user guide shows them -------------------------------------------------


def event(kind, **detail):
    return {
        "version": "0",
        "id": "c8f9c4b5-76e5-d76a-f980-7011e206042b",
        "detail-type": kind,
        "source": "aws.batch",
        "account": "123456789012",
        "time": "2026-01-11T23:36:40Z",
        "region": "us-east-1",
        "resources": [f"arn:aws:batch:us-east-1:123456789012:job/{JOB}"],
        "detail": {
            "jobArn": f"arn:aws:batch:us-east-1:123456789012:job/{JOB}",
            "jobName": "train",
            "jobId": JOB,
            "jobQueue": QUEUE,
            "attempts": [],
            "createdAt": 1641944200058,
            "nodeProperties": {"numNodes": 2, "mainNode": 0, "nodeRangeProperties": []},
            **detail,
        },
    }


def matches(pattern, value):
    """EventBridge's matching as its documentation says, as far as the patterns here use it."""
    if isinstance(pattern, dict):
        return isinstance(value, dict) and all(
            key in value and matches(each, value[key]) for key, each in pattern.items()
        )
    return any(_matches_one(each, value) for each in pattern)


def _matches_one(rule, value):
    if not isinstance(rule, dict):
        return rule == value
    ((name, operand),) = rule.items()
    assert name == "anything-but"
    ((inner, wildcard),) = operand.items()
    assert inner == "wildcard"
    pieces = map(re.escape, wildcard.split("*"))
    return re.fullmatch(".*".join(pieces), value) is None


STATE = "Batch Job State Change"
BLOCKED = "Batch Job Queue Blocked"
OTHER = f"{QUEUE}2"


@pytest.mark.parametrize(
    ("pattern", "message", "expected"),
    [
        (blocked_pattern, event(BLOCKED, status="RUNNABLE", statusReason="MISCONFIGURATION:x"), True),
        (blocked_pattern, event(BLOCKED, status="RUNNABLE", jobQueue=OTHER), False),
        (blocked_pattern, event(STATE, status="RUNNABLE"), False),
        (blocked_pattern, {**event(BLOCKED), "source": "aws.ecs"}, False),
        (failed_pattern, event(STATE, status="FAILED"), True),
        (failed_pattern, event(STATE, status="FAILED", jobId=f"{JOB}#0"), False),
        (failed_pattern, event(STATE, status="FAILED", jobId=f"{JOB}#17"), False),
        (failed_pattern, event(STATE, status="SUCCEEDED"), False),
        (failed_pattern, event(STATE, status="RUNNING"), False),
        (failed_pattern, event(STATE, status="FAILED", jobQueue=OTHER), False),
        (failed_pattern, event(BLOCKED, status="FAILED"), False),
    ],
)
def test_a_pattern_finds_the_events_that_are_meant(pattern, message, expected):
    assert matches(pattern(QUEUE), message) is expected
    assert EventPattern.load(json.dumps(pattern(QUEUE))).matches_event(message) is expected


def terms(pattern):
    """The quoted terms of a filter pattern for plain text: each must be in the line."""
    return [each.replace('\\"', '"') for each in re.findall(r'"((?:[^"\\]|\\.)*)"', pattern)]


def verdict(outcome, lines=()):
    failure = {"node": 1, "rank": 8, "host": "ip-10", "code": 1, "reason": "it failed", "lines": list(lines)}
    return verdict_line(
        {
            "contract": 1,
            "job": JOB,
            "attempt": 1,
            "outcome": outcome,
            "code": 1,
            "first_failure": failure if lines or outcome == OUTCOME_FAILED else None,
            "phases": {},
            "nodes": [],
            "launcher": "torch",
            "world_size": 2,
            "simulated": False,
        }
    ).decode()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (verdict(OUTCOME_FAILED), True),
        (verdict(OUTCOME_FAILED, ['{"outcome":"succeeded"}']), True),
        (verdict(OUTCOME_SUCCEEDED), False),
        (verdict(OUTCOME_TERMINATED, ['{"outcome":"failed"}']), False),
        ('the training says "outcome":"failed"', False),
    ],
)
def test_the_filter_finds_failed_verdicts_alone(line, expected):
    assert terms(FAILED_PATTERN) == ["muster.verdict", '"outcome":"failed"']
    assert all(term in line for term in terms(FAILED_PATTERN)) is expected
