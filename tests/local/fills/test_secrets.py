"""Secrets: what is beside the value changes without it, tags too."""

import pytest
from local_deploy import client, deploy_well, one

pytestmark = pytest.mark.usefixtures("account")
SECRET = "AWS::SecretsManager::Secret"


def made(**properties):
    arn = deploy_well(one(SECRET, GenerateSecretString={"PasswordLength": 20}, **properties))["Id"]
    secrets = client("secretsmanager")
    return arn, secrets.get_secret_value(SecretId=arn)["SecretString"], secrets.describe_secret(SecretId=arn)


def test_a_tag_and_a_description_change_without_the_value():
    arn, value, _ = made(Description="a", Tags=[{"Key": "team", "Value": "a"}])
    assert len(value) == 20
    assert made(Description="a", Tags=[{"Key": "group", "Value": "b"}])[:2] == (arn, value)
    after = made(Description="b", Tags=[{"Key": "group", "Value": "b"}])
    assert after[:2] == (arn, value)
    assert after[2]["Description"] == "b"
    assert after[2]["Tags"] == [{"Key": "group", "Value": "b"}]


def test_another_way_to_generate_it_is_another_value():
    arn = deploy_well(one(SECRET, SecretString="a"))["Id"]
    assert deploy_well(one(SECRET, SecretString="b"))["Id"] == arn
    assert client("secretsmanager").get_secret_value(SecretId=arn)["SecretString"] == "b"
