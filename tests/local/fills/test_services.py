"""IAM, ECR, logs, S3 and secrets in templates."""

import json

import pytest
from botocore.exceptions import ClientError
from local_deploy import client, delete, deploy, deploy_well, one, reasons

from muster_cli.local.fills import patching

pytestmark = pytest.mark.usefixtures("account")
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ],
}
TASKS = json.loads(json.dumps(TRUST).replace("ec2", "ecs-tasks"))
READ = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}],
}
ECS_POLICY = "arn:aws:iam::aws:policy/service-role/AmazonEC2ContainerServiceforEC2Role"
LOGS_POLICY = "arn:aws:iam::aws:policy/CloudWatchLogsReadOnlyAccess"


# --- IAM ----------------------------------------------------------------------------------------


def role(**more):
    return one("AWS::IAM::Role", RoleName="nodes", **{"AssumeRolePolicyDocument": TRUST, **more})


def attached():
    found = client("iam").list_attached_role_policies(RoleName="nodes")["AttachedPolicies"]
    return {policy["PolicyArn"] for policy in found}


def test_a_role_has_its_managed_policies():
    deploy_well(role(ManagedPolicyArns=[ECS_POLICY]))
    assert attached() == {ECS_POLICY}
    document = client("iam").get_policy_version(
        PolicyArn=ECS_POLICY,
        VersionId=client("iam").get_policy(PolicyArn=ECS_POLICY)["Policy"]["DefaultVersionId"],
    )["PolicyVersion"]["Document"]
    assert "ecs:RegisterContainerInstance" in json.dumps(document)
    delete()
    assert client("iam").list_roles()["Roles"] == []


def test_stock_moto_drops_the_managed_policies():
    with patching.unfilled():
        deploy(role(ManagedPolicyArns=[ECS_POLICY]))
        assert attached() == set()


def test_a_managed_policy_that_is_not_there_fails_the_stack():
    missing = "arn:aws:iam::aws:policy/NoSuchThing"
    assert deploy(role(ManagedPolicyArns=[missing]))["StackStatus"] == "ROLLBACK_COMPLETE"
    assert reasons() == [f"It CREATE_FAILED: Policy {missing} does not exist or is not attachable."]


def test_every_part_of_a_role_changes_in_place():
    inline = [{"PolicyName": "read", "PolicyDocument": READ}]
    deploy_well(role(ManagedPolicyArns=[ECS_POLICY], Policies=inline))
    deploy_well(
        role(
            AssumeRolePolicyDocument=TASKS,
            Description="changed",
            ManagedPolicyArns=[LOGS_POLICY],
            Policies=[{"PolicyName": "other", "PolicyDocument": READ}],
            Tags=[{"Key": "team", "Value": "vision"}],
        )
    )
    found = client("iam").get_role(RoleName="nodes")["Role"]
    assert found["AssumeRolePolicyDocument"] == TASKS
    assert found["Description"] == "changed"
    assert found["Tags"] == [{"Key": "team", "Value": "vision"}]
    assert attached() == {LOGS_POLICY}
    assert client("iam").list_role_policies(RoleName="nodes")["PolicyNames"] == ["other"]


def test_stock_moto_does_not_change_the_trust():
    with patching.unfilled():
        deploy(role())
        deploy(role(AssumeRolePolicyDocument=TASKS))
        assert client("iam").get_role(RoleName="nodes")["Role"]["AssumeRolePolicyDocument"] == TRUST


def test_another_path_needs_another_role():
    deploy_well(role())
    assert deploy(role(Path="/other/"))["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert "Rename nodes and update the stack again." in reasons()[0]


def profile(role_name="One", path="/"):
    resources = {
        name: {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": TRUST}}
        for name in ("One", "Two")
    }
    resources["It"] = {
        "Type": "AWS::IAM::InstanceProfile",
        "Properties": {"Roles": [{"Ref": role_name}], "Path": path},
    }
    return {
        "Resources": resources,
        "Outputs": {"Id": {"Value": {"Ref": "It"}}, "Role": {"Value": {"Ref": role_name}}},
    }


def profiles():
    found = client("iam").list_instance_profiles()["InstanceProfiles"]
    return {p["InstanceProfileName"]: [r["RoleName"] for r in p["Roles"]] for p in found}


def test_a_profile_changes_its_role_in_place_and_its_path_by_replacement():
    first = deploy_well(profile())
    second = deploy_well(profile("Two"))
    assert second["Id"] == first["Id"]
    assert profiles() == {second["Id"]: [second["Role"]]}
    third = deploy_well(profile("Two", "/other/"))
    assert profiles() == {third["Id"]: [third["Role"]]}


def test_a_managed_policy_of_ones_own_comes_and_goes():
    template = role(ManagedPolicyArns=[{"Ref": "Policy"}])
    template["Resources"]["Policy"] = {
        "Type": "AWS::IAM::ManagedPolicy",
        "Properties": {"PolicyDocument": READ},
    }
    deploy_well(template)
    (arn,) = attached()
    assert client("iam").list_policies(Scope="Local")["Policies"][0]["Arn"] == arn
    client("iam").create_role(RoleName="other", AssumeRolePolicyDocument=json.dumps(TRUST))
    client("iam").attach_role_policy(RoleName="other", PolicyArn=arn)
    delete()
    assert client("iam").list_policies(Scope="Local")["Policies"] == []


# --- ECR ----------------------------------------------------------------------------------------

LIFECYCLE = json.dumps(
    {
        "rules": [
            {
                "rulePriority": 1,
                "selection": {"tagStatus": "any", "countType": "imageCountMoreThan", "countNumber": 9},
                "action": {"type": "expire"},
            }
        ]
    }
)


def repository(**properties):
    return one("AWS::ECR::Repository", ("Arn", "RepositoryUri"), **properties)


def test_a_repository_without_a_name_has_a_lower_case_one_and_its_policies():
    out = deploy_well(
        repository(
            ImageScanningConfiguration={"ScanOnPush": True},
            ImageTagMutability="IMMUTABLE",
            LifecyclePolicy={"LifecyclePolicyText": LIFECYCLE},
            RepositoryPolicyText=READ,
        )
    )
    (found,) = client("ecr").describe_repositories()["repositories"]
    name = found["repositoryName"]
    assert name == out["Id"] == name.lower()
    assert (found["repositoryArn"], found["repositoryUri"]) == (out["Arn"], out["RepositoryUri"])
    assert found["imageScanningConfiguration"] == {"scanOnPush": True}
    assert found["imageTagMutability"] == "IMMUTABLE"
    assert client("ecr").get_lifecycle_policy(repositoryName=name)["lifecyclePolicyText"] == LIFECYCLE
    assert json.loads(client("ecr").get_repository_policy(repositoryName=name)["policyText"]) == READ
    delete()
    assert client("ecr").describe_repositories()["repositories"] == []


def test_stock_moto_names_it_with_capitals():
    with patching.unfilled(), pytest.raises(ClientError, match="failed to satisfy constraint"):
        deploy({"Resources": repository()["Resources"]})


def test_a_repository_changes_in_place():
    first = deploy_well(repository())
    second = deploy_well(
        repository(
            ImageScanningConfiguration={"ScanOnPush": True},
            LifecyclePolicy={"LifecyclePolicyText": LIFECYCLE},
        )
    )
    assert second == first
    (found,) = client("ecr").describe_repositories()["repositories"]
    assert found["imageScanningConfiguration"] == {"scanOnPush": True}
    assert client("ecr").get_lifecycle_policy(repositoryName=first["Id"])["lifecyclePolicyText"] == LIFECYCLE
    assert deploy_well(repository(EncryptionConfiguration={"EncryptionType": "KMS"}))["Id"] != first["Id"]


MANIFEST = {"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json"}


def push(name):
    client("ecr").put_image(repositoryName=name, imageManifest=json.dumps(MANIFEST), imageTag="1")


@pytest.mark.parametrize(("properties", "left"), [({}, 1), ({"EmptyOnDelete": True}, 0)])
def test_a_full_repository_goes_only_when_it_may_be_emptied(properties, left):
    push(deploy_well(repository(**properties))["Id"])
    delete()
    assert len(client("ecr").describe_repositories()["repositories"]) == left


# --- logs ---------------------------------------------------------------------------------------


def log_group(**properties):
    return one("AWS::Logs::LogGroup", ("Arn",), **properties)


def test_a_log_group_keeps_its_logs_as_long_as_it_says():
    out = deploy_well(log_group(RetentionInDays=30, Tags=[{"Key": "a", "Value": "b"}]))
    (found,) = client("logs").describe_log_groups()["logGroups"]
    assert found["retentionInDays"] == 30
    assert out["Arn"] == found["arn"]
    assert out["Arn"].endswith(f":log-group:{out['Id']}:*")
    assert (
        client("logs").list_tags_for_resource(resourceArn=out["Arn"].removesuffix(":*"))["tags"]["a"] == "b"
    )


def retention():
    return [g.get("retentionInDays") for g in client("logs").describe_log_groups()["logGroups"]]


def test_a_log_group_changes_in_place_and_keeps_its_logs():
    name = deploy_well(log_group(RetentionInDays=30))["Id"]
    client("logs").create_log_stream(logGroupName=name, logStreamName="node")
    assert deploy_well(log_group(RetentionInDays=7))["Id"] == name
    assert retention() == [7]
    assert len(client("logs").describe_log_streams(logGroupName=name)["logStreams"]) == 1
    deploy_well(log_group())
    assert retention() == [None]


def test_stock_moto_does_not_change_a_log_group():
    with patching.unfilled():
        deploy({"Resources": log_group(RetentionInDays=30)["Resources"]})
        deploy({"Resources": log_group(RetentionInDays=7)["Resources"]})
        assert retention() == [30]


# --- S3 -----------------------------------------------------------------------------------------


def bucket(effect="Deny", condition=True, target="Bucket"):
    statement = {"Effect": effect, "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::*/*"}
    if condition:
        statement["Condition"] = {"Bool": {"aws:SecureTransport": "false"}}
    policy = {
        "Bucket": {"Ref": target},
        "PolicyDocument": {"Version": "2012-10-17", "Statement": [statement]},
    }
    return {
        "Resources": {
            "Bucket": {"Type": "AWS::S3::Bucket"},
            "Other": {"Type": "AWS::S3::Bucket"},
            "It": {"Type": "AWS::S3::BucketPolicy", "Properties": policy},
        },
        "Outputs": {name: {"Value": {"Ref": name}} for name in ("Bucket", "Other")},
    }


def put(name):
    client("s3").put_object(Bucket=name, Key="key", Body=b"body")


def test_a_bucket_policy_is_really_there_and_leaves_the_plain_endpoint_usable():
    name = deploy_well(bucket())["Bucket"]
    policy = json.loads(client("s3").get_bucket_policy(Bucket=name)["Policy"])
    assert policy["Statement"][0]["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    put(name)
    with patching.unfilled(), pytest.raises(ClientError, match="403"):
        put(name)
    put(deploy_well(bucket(condition=True, target="Bucket", effect="Allow"))["Other"])


def test_a_statement_without_a_condition_holds():
    name = deploy_well(bucket(condition=False))["Bucket"]
    with pytest.raises(ClientError, match="403"):
        put(name)


def test_a_policy_with_one_statement_is_read():
    name = deploy_well(bucket())["Bucket"]
    policy = json.loads(client("s3").get_bucket_policy(Bucket=name)["Policy"])
    single = {**policy, "Statement": policy["Statement"][0]}
    client("s3").put_bucket_policy(Bucket=name, Policy=json.dumps(single))
    put(name)


def test_a_policy_moves_with_its_bucket_and_goes():
    out = deploy_well(bucket())
    deploy_well(bucket(target="Other"))
    assert client("s3").get_bucket_policy(Bucket=out["Other"])["Policy"]
    with pytest.raises(ClientError, match="NoSuchBucketPolicy"):
        client("s3").get_bucket_policy(Bucket=out["Bucket"])
    delete()
    assert client("s3").list_buckets()["Buckets"] == []


def test_stock_moto_skips_a_bucket_policy():
    template = {"Resources": bucket()["Resources"]}
    with patching.unfilled(), pytest.warns(UserWarning, match="BucketPolicy but it's not supported"):
        deploy(template)


# --- secrets ------------------------------------------------------------------------------------


def secret(**properties):
    return one("AWS::SecretsManager::Secret", ("Id",), **properties)


def value(arn):
    return client("secretsmanager").get_secret_value(SecretId=arn)["SecretString"]


def test_a_secret_is_generated():
    rule = {"PasswordLength": 48, "ExcludePunctuation": True}
    arn = deploy_well(secret(GenerateSecretString=rule))["Id"]
    assert len(value(arn)) == 48
    assert value(arn).isalnum()
    delete()
    assert client("secretsmanager").list_secrets()["SecretList"] == []


def test_two_secrets_differ():
    two = secret(GenerateSecretString={})
    two["Resources"]["Two"] = {
        "Type": "AWS::SecretsManager::Secret",
        "Properties": {"GenerateSecretString": {}},
    }
    deploy_well(two)
    texts = {value(s["ARN"]) for s in client("secretsmanager").list_secrets()["SecretList"]}
    assert sorted(map(len, texts)) == [32, 32]


def test_a_secret_is_generated_into_a_template():
    rule = {"SecretStringTemplate": '{"user": "root"}', "GenerateStringKey": "password", "PasswordLength": 20}
    made = json.loads(value(deploy_well(secret(GenerateSecretString=rule))["Id"]))
    assert made["user"] == "root"
    assert len(made["password"]) == 20


def test_a_secret_keeps_its_value_when_something_else_changes():
    rule = {"PasswordLength": 48}
    arn = deploy_well(secret(GenerateSecretString=rule))["Id"]
    text = value(arn)
    changed = secret(GenerateSecretString=rule, Description="new", Tags=[{"Key": "a", "Value": "b"}])
    assert deploy_well(changed)["Id"] == arn
    assert value(arn) == text
    assert client("secretsmanager").describe_secret(SecretId=arn)["Description"] == "new"
    deploy_well(secret(GenerateSecretString={"PasswordLength": 20}))
    assert len(value(arn)) == 20


def test_a_given_secret_and_one_without_a_value():
    arn = deploy_well(secret(Name="given", SecretString="word"))["Id"]
    assert value(arn) == "word"
    other = deploy_well(secret(Name="empty"))["Id"]
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        value(other)


def test_stock_moto_has_no_secrets_in_templates():
    with patching.unfilled(), pytest.warns(UserWarning, match="Secret but it's not supported"):
        deploy({"Resources": secret()["Resources"]})
