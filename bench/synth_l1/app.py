"""The reference app's resources by hand, as L1 constructs. Written by write.py: run it after a change of the template."""

# ruff: noqa: F841, N806, PLR0915
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import (
    aws_batch,
    aws_ec2,
    aws_ecr,
    aws_ecr_assets,
    aws_iam,
    aws_lambda,
    aws_logs,
    aws_secretsmanager,
)

if TYPE_CHECKING:
    from constructs import Construct

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"


class L1Stack(cdk.Stack):
    """One cluster, one job."""

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        image = aws_ecr_assets.DockerImageAsset(self, "Image", directory=str(DIGITS)).image_uri
        rClusterNetworkVpcC6C4EC94 = aws_ec2.CfnVPC(
            self,
            "ClusterNetworkVpcC6C4EC94",
            cidr_block="10.0.0.0/16",
            enable_dns_hostnames=True,
            enable_dns_support=True,
            instance_tenancy="default",
            tags=[{"key": "Name", "value": "Muster/Cluster/Network/Vpc"}],
        )
        rClusterNetworkVpcIGW1EB8D5C0 = aws_ec2.CfnInternetGateway(
            self,
            "ClusterNetworkVpcIGW1EB8D5C0",
            tags=[{"key": "Name", "value": "Muster/Cluster/Network/Vpc"}],
        )
        rClusterNetworkVpcPublicSubnet1EIPDD663FB4 = aws_ec2.CfnEIP(
            self,
            "ClusterNetworkVpcPublicSubnet1EIPDD663FB4",
            domain="vpc",
            tags=[{"key": "Name", "value": "Muster/Cluster/Network/Vpc/PublicSubnet1"}],
        )
        rClusterNetworkVpcRejectsIAMRoleDC1DA879 = aws_iam.CfnRole(
            self,
            "ClusterNetworkVpcRejectsIAMRoleDC1DA879",
            assume_role_policy_document={
                "Statement": [
                    {
                        "Action": "sts:AssumeRole",
                        "Effect": "Allow",
                        "Principal": {"Service": "vpc-flow-logs.amazonaws.com"},
                    }
                ],
                "Version": "2012-10-17",
            },
            tags=[{"key": "Name", "value": "Muster/Cluster/Network/Vpc/Rejects"}],
        )
        rClusterNetworkFlowLog718A0512 = aws_logs.CfnLogGroup(
            self, "ClusterNetworkFlowLog718A0512", retention_in_days=30
        )
        rClusterInstanceRoleD85D9505 = aws_iam.CfnRole(
            self,
            "ClusterInstanceRoleD85D9505",
            assume_role_policy_document={
                "Statement": [
                    {
                        "Action": "sts:AssumeRole",
                        "Effect": "Allow",
                        "Principal": {"Service": "ec2.amazonaws.com"},
                    }
                ],
                "Version": "2012-10-17",
            },
            description="Hosts of a GPU cluster",
            managed_policy_arns=[
                cdk.Fn.join(
                    "",
                    [
                        "arn:",
                        cdk.Aws.PARTITION,
                        ":iam::aws:policy/service-role/AmazonEC2ContainerServiceforEC2Role",
                    ],
                )
            ],
        )
        rClusterPlacementGroupBCA216F6 = aws_ec2.CfnPlacementGroup(
            self, "ClusterPlacementGroupBCA216F6", strategy="cluster"
        )
        rClusterRepositoryC89E8BFD = aws_ecr.CfnRepository(
            self,
            "ClusterRepositoryC89E8BFD",
            empty_on_delete=False,
            image_scanning_configuration={"scanOnPush": True},
            image_tag_mutability="IMMUTABLE",
            lifecycle_policy={
                "lifecyclePolicyText": '{"rules":[{"rulePriority":1,"description":"untagged images","selection":{"tagStatus":"untagged","countType":"sinceImagePushed","countNumber":7,"countUnit":"days"},"action":{"type":"expire"}},{"rulePriority":2,"description":"all but the newest images","selection":{"tagStatus":"any","countType":"imageCountMoreThan","countNumber":50},"action":{"type":"expire"}}]}'
            },
        )
        rTrainLogGroup459AB3E1 = aws_logs.CfnLogGroup(self, "TrainLogGroup459AB3E1", retention_in_days=90)
        rTrainSecretCB90A885 = aws_secretsmanager.CfnSecret(
            self,
            "TrainSecretCB90A885",
            description="Rendezvous secret of a multi-node job",
            generate_secret_string={"excludePunctuation": True, "passwordLength": 64},
        )
        rTrainJobRole4C68484A = aws_iam.CfnRole(
            self,
            "TrainJobRole4C68484A",
            assume_role_policy_document={
                "Statement": [
                    {
                        "Action": "sts:AssumeRole",
                        "Effect": "Allow",
                        "Principal": {"Service": "ecs-tasks.amazonaws.com"},
                    }
                ],
                "Version": "2012-10-17",
            },
            description="Training code of a job",
        )
        rTrainExecutionRole49EAEEC2 = aws_iam.CfnRole(
            self,
            "TrainExecutionRole49EAEEC2",
            assume_role_policy_document={
                "Statement": [
                    {
                        "Action": "sts:AssumeRole",
                        "Effect": "Allow",
                        "Principal": {"Service": "ecs-tasks.amazonaws.com"},
                    }
                ],
                "Version": "2012-10-17",
            },
            description="ECS agent on behalf of a job",
        )
        rClusterNetworkVpcPublicSubnet1SubnetE0367463 = aws_ec2.CfnSubnet(
            self,
            "ClusterNetworkVpcPublicSubnet1SubnetE0367463",
            availability_zone="us-east-1b",
            cidr_block="10.0.0.0/28",
            map_public_ip_on_launch=False,
            tags=[
                {"key": "aws-cdk:subnet-name", "value": "Public"},
                {"key": "aws-cdk:subnet-type", "value": "Public"},
                {"key": "Name", "value": "Muster/Cluster/Network/Vpc/PublicSubnet1"},
            ],
            vpc_id=rClusterNetworkVpcC6C4EC94.ref,
        )
        rClusterNetworkVpcPublicSubnet1RouteTableE75E7C51 = aws_ec2.CfnRouteTable(
            self,
            "ClusterNetworkVpcPublicSubnet1RouteTableE75E7C51",
            tags=[{"key": "Name", "value": "Muster/Cluster/Network/Vpc/PublicSubnet1"}],
            vpc_id=rClusterNetworkVpcC6C4EC94.ref,
        )
        rClusterNetworkVpcNodesSubnet1Subnet8BDE2205 = aws_ec2.CfnSubnet(
            self,
            "ClusterNetworkVpcNodesSubnet1Subnet8BDE2205",
            availability_zone="us-east-1b",
            cidr_block="10.0.128.0/17",
            map_public_ip_on_launch=False,
            tags=[
                {"key": "aws-cdk:subnet-name", "value": "Nodes"},
                {"key": "aws-cdk:subnet-type", "value": "Private"},
                {"key": "Name", "value": "Muster/Cluster/Network/Vpc/NodesSubnet1"},
            ],
            vpc_id=rClusterNetworkVpcC6C4EC94.ref,
        )
        rClusterNetworkVpcNodesSubnet1RouteTableA3D6D23F = aws_ec2.CfnRouteTable(
            self,
            "ClusterNetworkVpcNodesSubnet1RouteTableA3D6D23F",
            tags=[{"key": "Name", "value": "Muster/Cluster/Network/Vpc/NodesSubnet1"}],
            vpc_id=rClusterNetworkVpcC6C4EC94.ref,
        )
        rClusterNetworkVpcMusterDefaultGroupTcpIn0A1779E8 = aws_ec2.CfnSecurityGroupIngress(
            self,
            "ClusterNetworkVpcMusterDefaultGroupTcpIn0A1779E8",
            description="Containers of multi-node jobs among themselves",
            from_port=0,
            group_id=rClusterNetworkVpcC6C4EC94.attr_default_security_group,
            ip_protocol="tcp",
            source_security_group_id=rClusterNetworkVpcC6C4EC94.attr_default_security_group,
            to_port=65535,
        )
        rClusterNetworkVpcMusterDefaultGroupTcpOut86BFA948 = aws_ec2.CfnSecurityGroupEgress(
            self,
            "ClusterNetworkVpcMusterDefaultGroupTcpOut86BFA948",
            cidr_ip="0.0.0.0/0",
            description="Containers of multi-node jobs to the internet",
            from_port=0,
            group_id=rClusterNetworkVpcC6C4EC94.attr_default_security_group,
            ip_protocol="tcp",
            to_port=65535,
        )
        rClusterEfaGroupF24522D4 = aws_ec2.CfnSecurityGroup(
            self,
            "ClusterEfaGroupF24522D4",
            group_description="EFA among the nodes of a GPU cluster",
            security_group_egress=[
                {
                    "cidrIp": "0.0.0.0/0",
                    "description": "ECS, registries and storage",
                    "fromPort": 0,
                    "ipProtocol": "tcp",
                    "toPort": 65535,
                }
            ],
            vpc_id=rClusterNetworkVpcC6C4EC94.ref,
        )
        rCustomVpcRestrictDefaultSGCustomResourceProviderRole26592FE0 = aws_iam.CfnRole(
            self,
            "CustomVpcRestrictDefaultSGCustomResourceProviderRole26592FE0",
            assume_role_policy_document={
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Action": "sts:AssumeRole",
                        "Effect": "Allow",
                        "Principal": {"Service": "lambda.amazonaws.com"},
                    }
                ],
            },
            managed_policy_arns=[
                cdk.Fn.sub("arn:${AWS::Partition}:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole")
            ],
            policies=[
                {
                    "policyName": "Inline",
                    "policyDocument": {
                        "Version": "2012-10-17",
                        "Statement": [
                            {
                                "Effect": "Allow",
                                "Action": [
                                    "ec2:AuthorizeSecurityGroupIngress",
                                    "ec2:AuthorizeSecurityGroupEgress",
                                    "ec2:RevokeSecurityGroupIngress",
                                    "ec2:RevokeSecurityGroupEgress",
                                ],
                                "Resource": [
                                    cdk.Fn.join(
                                        "",
                                        [
                                            "arn:",
                                            cdk.Aws.PARTITION,
                                            ":ec2:",
                                            cdk.Aws.REGION,
                                            ":",
                                            cdk.Aws.ACCOUNT_ID,
                                            ":security-group/",
                                            rClusterNetworkVpcC6C4EC94.attr_default_security_group,
                                        ],
                                    )
                                ],
                            }
                        ],
                    },
                }
            ],
        )
        rClusterNetworkVpcVPCGW04EF0C0F = aws_ec2.CfnVPCGatewayAttachment(
            self,
            "ClusterNetworkVpcVPCGW04EF0C0F",
            internet_gateway_id=rClusterNetworkVpcIGW1EB8D5C0.ref,
            vpc_id=rClusterNetworkVpcC6C4EC94.ref,
        )
        rClusterNetworkVpcRejectsIAMRoleDefaultPolicyABBC59D2 = aws_iam.CfnPolicy(
            self,
            "ClusterNetworkVpcRejectsIAMRoleDefaultPolicyABBC59D2",
            policy_document={
                "Statement": [
                    {
                        "Action": ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                        "Effect": "Allow",
                        "Resource": rClusterNetworkFlowLog718A0512.attr_arn,
                    }
                ],
                "Version": "2012-10-17",
            },
            policy_name="ClusterNetworkVpcRejectsIAMRoleDefaultPolicyABBC59D2",
            roles=[rClusterNetworkVpcRejectsIAMRoleDC1DA879.ref],
        )
        rClusterNetworkVpcRejectsFlowLogA3394358 = aws_ec2.CfnFlowLog(
            self,
            "ClusterNetworkVpcRejectsFlowLogA3394358",
            deliver_logs_permission_arn=rClusterNetworkVpcRejectsIAMRoleDC1DA879.attr_arn,
            log_destination_type="cloud-watch-logs",
            log_group_name=rClusterNetworkFlowLog718A0512.ref,
            resource_id=rClusterNetworkVpcC6C4EC94.ref,
            resource_type="VPC",
            tags=[{"key": "Name", "value": "Muster/Cluster/Network/Vpc/Rejects"}],
            traffic_type="REJECT",
        )
        rClusterInstanceProfile4AFF3FEC = aws_iam.CfnInstanceProfile(
            self, "ClusterInstanceProfile4AFF3FEC", roles=[rClusterInstanceRoleD85D9505.ref]
        )
        rTrainExecutionRoleDefaultPolicyD9C63FED = aws_iam.CfnPolicy(
            self,
            "TrainExecutionRoleDefaultPolicyD9C63FED",
            policy_document={
                "Statement": [
                    {
                        "Action": ["secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"],
                        "Effect": "Allow",
                        "Resource": rTrainSecretCB90A885.ref,
                    },
                    {
                        "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
                        "Effect": "Allow",
                        "Resource": rTrainLogGroup459AB3E1.attr_arn,
                    },
                    {
                        "Action": [
                            "ecr:BatchCheckLayerAvailability",
                            "ecr:BatchGetImage",
                            "ecr:GetDownloadUrlForLayer",
                        ],
                        "Effect": "Allow",
                        "Resource": cdk.Fn.join(
                            "",
                            [
                                "arn:",
                                cdk.Aws.PARTITION,
                                ":ecr:",
                                cdk.Aws.REGION,
                                ":",
                                cdk.Aws.ACCOUNT_ID,
                                ":repository/",
                                cdk.Fn.sub("cdk-hnb659fds-container-assets-${AWS::AccountId}-${AWS::Region}"),
                            ],
                        ),
                    },
                    {"Action": "ecr:GetAuthorizationToken", "Effect": "Allow", "Resource": "*"},
                ],
                "Version": "2012-10-17",
            },
            policy_name="TrainExecutionRoleDefaultPolicyD9C63FED",
            roles=[rTrainExecutionRole49EAEEC2.ref],
        )
        rTrain781835F2 = aws_batch.CfnJobDefinition(
            self,
            "Train781835F2",
            node_properties={
                "mainNode": 0,
                "nodeRangeProperties": [
                    {
                        "container": {
                            "command": [
                                "python3",
                                "/opt/muster/muster-node",
                                "run",
                                "--launcher",
                                "torch",
                                "--",
                                "train.py",
                            ],
                            "environment": [
                                {"name": "MUSTER_CONTRACT", "value": "1"},
                                {"name": "MUSTER_ACCELERATORS_PER_NODE", "value": "1"},
                                {"name": "MUSTER_STOP_TIMEOUT", "value": "120"},
                            ],
                            "executionRoleArn": rTrainExecutionRole49EAEEC2.attr_arn,
                            "image": image,
                            "instanceType": "g6.8xlarge",
                            "jobRoleArn": rTrainJobRole4C68484A.attr_arn,
                            "linuxParameters": {
                                "devices": [
                                    {
                                        "containerPath": "/dev/infiniband/uverbs0",
                                        "hostPath": "/dev/infiniband/uverbs0",
                                        "permissions": ["READ", "WRITE", "MKNOD"],
                                    }
                                ],
                                "initProcessEnabled": True,
                                "sharedMemorySize": 62259,
                            },
                            "logConfiguration": {
                                "logDriver": "awslogs",
                                "options": {
                                    "awslogs-group": rTrainLogGroup459AB3E1.ref,
                                    "awslogs-region": cdk.Aws.REGION,
                                },
                            },
                            "resourceRequirements": [
                                {"type": "VCPU", "value": "32"},
                                {"type": "MEMORY", "value": "124518"},
                                {"type": "GPU", "value": "1"},
                            ],
                            "secrets": [{"name": "MUSTER_JOB_SECRET", "valueFrom": rTrainSecretCB90A885.ref}],
                            "ulimits": [
                                {"hardLimit": -1, "name": "memlock", "softLimit": -1},
                                {"hardLimit": 67108864, "name": "stack", "softLimit": 67108864},
                                {"hardLimit": 1048576, "name": "nofile", "softLimit": 1048576},
                            ],
                        },
                        "targetNodes": "0:",
                    }
                ],
                "numNodes": 2,
            },
            platform_capabilities=["EC2"],
            retry_strategy={
                "attempts": 3,
                "evaluateOnExit": [
                    {"action": "RETRY", "onStatusReason": "Host EC2*"},
                    {"action": "RETRY", "onStatusReason": "Task failed to start*"},
                    {
                        "action": "RETRY",
                        "onStatusReason": "Timeout waiting for network interface provisioning*",
                    },
                    {"action": "RETRY", "onExitCode": "75"},
                    {"action": "EXIT", "onReason": "*"},
                ],
            },
            timeout={"attemptDurationSeconds": 3600},
            type="multinode",
        )
        rClusterNetworkVpcPublicSubnet1NATGatewayECB15AB6 = aws_ec2.CfnNatGateway(
            self,
            "ClusterNetworkVpcPublicSubnet1NATGatewayECB15AB6",
            allocation_id=rClusterNetworkVpcPublicSubnet1EIPDD663FB4.attr_allocation_id,
            subnet_id=rClusterNetworkVpcPublicSubnet1SubnetE0367463.ref,
            tags=[{"key": "Name", "value": "Muster/Cluster/Network/Vpc/PublicSubnet1"}],
        )
        rClusterNetworkVpcPublicSubnet1RouteTableAssociation25A445F6 = aws_ec2.CfnSubnetRouteTableAssociation(
            self,
            "ClusterNetworkVpcPublicSubnet1RouteTableAssociation25A445F6",
            route_table_id=rClusterNetworkVpcPublicSubnet1RouteTableE75E7C51.ref,
            subnet_id=rClusterNetworkVpcPublicSubnet1SubnetE0367463.ref,
        )
        rClusterNetworkVpcPublicSubnet1DefaultRouteAA81336D = aws_ec2.CfnRoute(
            self,
            "ClusterNetworkVpcPublicSubnet1DefaultRouteAA81336D",
            destination_cidr_block="0.0.0.0/0",
            gateway_id=rClusterNetworkVpcIGW1EB8D5C0.ref,
            route_table_id=rClusterNetworkVpcPublicSubnet1RouteTableE75E7C51.ref,
        )
        rClusterNetworkVpcNodesSubnet1RouteTableAssociation5C75476D = aws_ec2.CfnSubnetRouteTableAssociation(
            self,
            "ClusterNetworkVpcNodesSubnet1RouteTableAssociation5C75476D",
            route_table_id=rClusterNetworkVpcNodesSubnet1RouteTableA3D6D23F.ref,
            subnet_id=rClusterNetworkVpcNodesSubnet1Subnet8BDE2205.ref,
        )
        rClusterEfaGroupfromMusterClusterEfaGroupB063B67CALLTRAFFIC517B4CFE = aws_ec2.CfnSecurityGroupIngress(
            self,
            "ClusterEfaGroupfromMusterClusterEfaGroupB063B67CALLTRAFFIC517B4CFE",
            description="EFA from the nodes",
            group_id=rClusterEfaGroupF24522D4.attr_group_id,
            ip_protocol="-1",
            source_security_group_id=rClusterEfaGroupF24522D4.attr_group_id,
        )
        rClusterEfaGrouptoMusterClusterEfaGroupB063B67CALLTRAFFIC030A6CC7 = aws_ec2.CfnSecurityGroupEgress(
            self,
            "ClusterEfaGrouptoMusterClusterEfaGroupB063B67CALLTRAFFIC030A6CC7",
            description="EFA to the nodes",
            destination_security_group_id=rClusterEfaGroupF24522D4.attr_group_id,
            group_id=rClusterEfaGroupF24522D4.attr_group_id,
            ip_protocol="-1",
        )
        rClusterLaunchTemplateD946544B = aws_ec2.CfnLaunchTemplate(
            self,
            "ClusterLaunchTemplateD946544B",
            launch_template_data={
                "blockDeviceMappings": [
                    {
                        "deviceName": "/dev/xvda",
                        "ebs": {
                            "deleteOnTermination": True,
                            "encrypted": True,
                            "volumeSize": 200,
                            "volumeType": "gp3",
                        },
                    }
                ],
                "metadataOptions": {
                    "httpEndpoint": "enabled",
                    "httpPutResponseHopLimit": 1,
                    "httpTokens": "required",
                },
                "networkInterfaces": [
                    {
                        "associatePublicIpAddress": False,
                        "deleteOnTermination": True,
                        "deviceIndex": 0,
                        "groups": [rClusterEfaGroupF24522D4.attr_group_id],
                        "interfaceType": "efa",
                        "networkCardIndex": 0,
                    }
                ],
                "tagSpecifications": [
                    {
                        "resourceType": "instance",
                        "tags": [
                            {"key": "Name", "value": "Muster/Cluster"},
                            {"key": "muster:cluster", "value": "Muster/Cluster"},
                        ],
                    },
                    {
                        "resourceType": "volume",
                        "tags": [
                            {"key": "Name", "value": "Muster/Cluster"},
                            {"key": "muster:cluster", "value": "Muster/Cluster"},
                        ],
                    },
                ],
                "userData": cdk.Fn.base64(
                    'Content-Type: multipart/mixed; boundary="+AWS+CDK+User+Data+Separator=="\nMIME-Version: 1.0\n\n--+AWS+CDK+User+Data+Separator==\nContent-Type: text/cloud-boothook; charset="us-ascii"\n\n#!/bin/bash\nexport HOST_STOP_TIMEOUT=120\nset -eu\nconfig=${HOST_ROOT:-}/etc/ecs/ecs.config\n\nmkdir -p "${config%/*}"\nif ! grep -qs \'^ECS_CONTAINER_STOP_TIMEOUT=\' "$config"; then\n  [ -z "$(tail -c 1 "$config" 2>/dev/null)" ] || echo >>"$config"\n  echo "ECS_CONTAINER_STOP_TIMEOUT=${HOST_STOP_TIMEOUT}s" >>"$config"\nfi\n\n--+AWS+CDK+User+Data+Separator==\nContent-Type: text/cloud-boothook; charset="us-ascii"\n\n#!/usr/bin/python3\nimport os; os.environ.update({\'HOST_LEAD\': \'180\'})\n"""Ends the job on a host before EC2 ends the host.\n\nAs a boothook this installs itself as a unit and starts that without waiting. As the unit (`run`) it\nasks the metadata service whether the instance is about to end, and then sends SIGTERM to the job\'s\ncontainers: once to each, also to those that start later.\n"""\n\nimport json\nimport os\nimport shutil\nimport subprocess\nimport sys\nimport time\nimport urllib.request\nfrom email.utils import parsedate_to_datetime\nfrom pathlib import Path\n\nROOT = os.environ.get("HOST_ROOT", "")\nIMDS = os.environ.get("HOST_IMDS", "http://169.254.169.254") + "/latest/"\nLEAD = float(os.environ.get("HOST_LEAD", "180"))\n"""Seconds before a known end at which the job is told: its stop timeout, and some to spare."""\nEND = float(os.environ.get("HOST_END", "inf"))\n"""When EC2 begins to end the instances of a Capacity Block, in seconds since 1970; no metadata says it."""\nPOLL = float(os.environ.get("HOST_POLL", "5"))\n\nPROGRAM = Path(ROOT + "/usr/local/libexec/muster/watch")\nUNIT = Path(ROOT + "/etc/systemd/system/muster-watch.service")\nUNIT_TEXT = f"""[Unit]\nDescription=Tells a job of Muster that its host is about to end\nAfter=docker.service\n\n[Service]\nExecStart=/usr/bin/python3 {PROGRAM} run\nRestart=always\nRestartSec=5\n"""\nTASK = "com.amazonaws.ecs.task-arn"\nNAME = "com.amazonaws.ecs.container-name"\nOPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))\n\n\ndef install() -> None:\n    """Install the unit and start it without waiting."""\n    for path in (PROGRAM, UNIT):\n        path.parent.mkdir(parents=True, exist_ok=True)\n    shutil.copy(__file__, PROGRAM)\n    UNIT.write_text(UNIT_TEXT)\n    for command in (["daemon-reload"], ["start", "--no-block", UNIT.name]):\n        subprocess.run(["systemctl", *command], check=True)\n\n\ndef ask(path: str, header: str, value: str, method: str = "GET") -> str:\n    """What the metadata service says; nothing where it has nothing to say."""\n    headers = {f"X-aws-ec2-metadata-{header}": value}\n    request = urllib.request.Request(IMDS + path, method=method, headers=headers)  # noqa: S310  a constant or a test\'s\n    try:\n        with OPENER.open(request, timeout=3) as reply:\n            return str(reply.read().decode())\n    except OSError:  # also urllib\'s errors: 404 where nothing is planned\n        return ""\n\n\ndef end_of_instance() -> float:\n    """When the instance ends, as far as is known: the earliest of what is planned."""\n    token = ask("api/token", "token-ttl-seconds", "60", "PUT")\n    notice = ask("meta-data/spot/instance-action", "token", token)  # two minutes at most: now\n    events = json.loads(ask("meta-data/events/maintenance/scheduled", "token", token) or "[]")\n    active = [event["NotBefore"] for event in events if event.get("State") == "active"]\n    times: list[float] = [parsedate_to_datetime(text).timestamp() for text in active]\n    return 0.0 if notice else min([END, *times])\n\n\ndef containers() -> set[str]:\n    """The job\'s containers; the agent\'s own and its pause containers are none."""\n    form = f\'{{{{.ID}}}} {{{{.Label "{NAME}"}}}}\'\n    command = ["docker", "ps", "--no-trunc", "--filter", f"label={TASK}", "--format", form]\n    found = subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True).stdout\n    rows = [line.partition(" ") for line in found.splitlines()]\n    return {identifier for identifier, _, name in rows if not name.startswith("~internal~")}\n\n\ndef run() -> None:\n    """Watch until the host ends."""\n    told: set[str] = set()\n    while True:\n        try:\n            end = end_of_instance()\n        except (ValueError, TypeError, AttributeError, KeyError) as error:\n            say(f"the metadata service says what nobody understands: {error!r}")\n            end = END\n        if end - time.time() <= LEAD:\n            for container in sorted(containers() - told):\n                say(f"the instance is about to end: SIGTERM to {container[:12]}")\n                subprocess.run(["docker", "kill", "--signal", "TERM", container], check=False)\n                told.add(container)\n        time.sleep(POLL)\n\n\ndef say(text: str) -> None:\n    """A line for the journal."""\n    sys.stderr.write(f"muster: {text}\\n")\n    sys.stderr.flush()\n\n\nif __name__ == "__main__":\n    run() if sys.argv[1:] == ["run"] else install()\n\n--+AWS+CDK+User+Data+Separator==\nContent-Type: text/x-shellscript; charset="us-ascii"\n\n#!/bin/bash\nset -u\n\nreport() {\n  local device driver found=0\n  for device in /sys/class/infiniband_verbs/uverbs*; do\n    [ -e "$device" ] || continue\n    found=1\n    driver=$(basename "$(readlink -f "$device/device/driver")")\n    echo "muster: $(basename "$device") is $(cat "$device/ibdev" 2>/dev/null), driver $driver"\n  done\n  [ "$found" = 1 ] || echo "muster: this host has no /dev/infiniband/uverbs device"\n}\n\nreport | tee -a /var/log/muster-host.log >/dev/console 2>&1 || true\n\n--+AWS+CDK+User+Data+Separator==--\n'
                ),
            },
            tag_specifications=[
                {
                    "resourceType": "launch-template",
                    "tags": [
                        {"key": "Name", "value": "Muster/Cluster"},
                        {"key": "muster:cluster", "value": "Muster/Cluster"},
                    ],
                }
            ],
        )
        rCustomVpcRestrictDefaultSGCustomResourceProviderHandlerDC833E5E = aws_lambda.CfnFunction(
            self,
            "CustomVpcRestrictDefaultSGCustomResourceProviderHandlerDC833E5E",
            code={
                "s3Bucket": cdk.Fn.sub("cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"),
                "s3Key": "02b51ab524e7bcf8f477de3e71e5f9a72e448301b26ba62e9e75a14f9c55a093.zip",
            },
            timeout=900,
            memory_size=128,
            handler="__entrypoint__.handler",
            role=rCustomVpcRestrictDefaultSGCustomResourceProviderRole26592FE0.attr_arn,
            runtime="nodejs24.x",
            description="Lambda function for removing all inbound/outbound rules from the VPC default security group",
        )
        rClusterNetworkVpcNodesSubnet1DefaultRouteECF5C4C0 = aws_ec2.CfnRoute(
            self,
            "ClusterNetworkVpcNodesSubnet1DefaultRouteECF5C4C0",
            destination_cidr_block="0.0.0.0/0",
            nat_gateway_id=rClusterNetworkVpcPublicSubnet1NATGatewayECB15AB6.ref,
            route_table_id=rClusterNetworkVpcNodesSubnet1RouteTableA3D6D23F.ref,
        )
        rClusterComputeEnvironment2EC7120A = aws_batch.CfnComputeEnvironment(
            self,
            "ClusterComputeEnvironment2EC7120A",
            compute_resources={
                "allocationStrategy": "BEST_FIT_PROGRESSIVE",
                "ec2Configuration": [{"imageType": "ECS_AL2023_NVIDIA"}],
                "instanceRole": rClusterInstanceProfile4AFF3FEC.attr_arn,
                "instanceTypes": ["g6.8xlarge"],
                "launchTemplate": {
                    "launchTemplateId": rClusterLaunchTemplateD946544B.ref,
                    "version": rClusterLaunchTemplateD946544B.attr_latest_version_number,
                },
                "maxvCpus": 128,
                "minvCpus": 0,
                "placementGroup": rClusterPlacementGroupBCA216F6.attr_group_name,
                "subnets": [rClusterNetworkVpcNodesSubnet1Subnet8BDE2205.ref],
                "type": "EC2",
            },
            replace_compute_environment=False,
            state="ENABLED",
            type="MANAGED",
            update_policy={"jobExecutionTimeoutMinutes": 60, "terminateJobsOnUpdate": False},
        )
        rClusterNetworkVpcRestrictDefaultSecurityGroupCustomResourceA9A226EE = cdk.CfnResource(
            self,
            "ClusterNetworkVpcRestrictDefaultSecurityGroupCustomResourceA9A226EE",
            type="Custom::VpcRestrictDefaultSG",
            properties={
                "ServiceToken": rCustomVpcRestrictDefaultSGCustomResourceProviderHandlerDC833E5E.attr_arn,
                "DefaultSecurityGroupId": rClusterNetworkVpcC6C4EC94.attr_default_security_group,
                "Account": cdk.Aws.ACCOUNT_ID,
            },
        )
        rClusterQueue73587731 = aws_batch.CfnJobQueue(
            self,
            "ClusterQueue73587731",
            compute_environment_order=[
                {
                    "computeEnvironment": rClusterComputeEnvironment2EC7120A.attr_compute_environment_arn,
                    "order": 1,
                }
            ],
            job_state_time_limit_actions=[
                {
                    "action": "CANCEL",
                    "maxTimeSeconds": 3600,
                    "reason": "MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE",
                    "state": "RUNNABLE",
                },
                {
                    "action": "CANCEL",
                    "maxTimeSeconds": 3600,
                    "reason": "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT",
                    "state": "RUNNABLE",
                },
            ],
            priority=1,
            state="ENABLED",
        )
        rClusterNetworkVpcPublicSubnet1DefaultRouteAA81336D.add_resource_dependency(
            rClusterNetworkVpcVPCGW04EF0C0F
        )
        rClusterNetworkVpcPublicSubnet1NATGatewayECB15AB6.add_resource_dependency(
            rClusterNetworkVpcPublicSubnet1DefaultRouteAA81336D
        )
        rClusterNetworkVpcPublicSubnet1NATGatewayECB15AB6.add_resource_dependency(
            rClusterNetworkVpcPublicSubnet1RouteTableAssociation25A445F6
        )
        rClusterNetworkVpcRestrictDefaultSecurityGroupCustomResourceA9A226EE.cfn_options.deletion_policy = (
            cdk.CfnDeletionPolicy.DELETE
        )
        rClusterNetworkVpcRestrictDefaultSecurityGroupCustomResourceA9A226EE.cfn_options.update_replace_policy = cdk.CfnDeletionPolicy.DELETE
        rClusterNetworkFlowLog718A0512.cfn_options.deletion_policy = cdk.CfnDeletionPolicy.DELETE
        rClusterNetworkFlowLog718A0512.cfn_options.update_replace_policy = cdk.CfnDeletionPolicy.DELETE
        rClusterComputeEnvironment2EC7120A.add_resource_dependency(
            rClusterNetworkVpcNodesSubnet1DefaultRouteECF5C4C0
        )
        rClusterComputeEnvironment2EC7120A.add_resource_dependency(
            rClusterNetworkVpcNodesSubnet1RouteTableAssociation5C75476D
        )
        rClusterRepositoryC89E8BFD.cfn_options.deletion_policy = cdk.CfnDeletionPolicy.RETAIN
        rClusterRepositoryC89E8BFD.cfn_options.update_replace_policy = cdk.CfnDeletionPolicy.RETAIN
        rCustomVpcRestrictDefaultSGCustomResourceProviderHandlerDC833E5E.add_resource_dependency(
            rCustomVpcRestrictDefaultSGCustomResourceProviderRole26592FE0
        )
        rTrainLogGroup459AB3E1.cfn_options.deletion_policy = cdk.CfnDeletionPolicy.RETAIN
        rTrainLogGroup459AB3E1.cfn_options.update_replace_policy = cdk.CfnDeletionPolicy.RETAIN
        rTrainSecretCB90A885.cfn_options.deletion_policy = cdk.CfnDeletionPolicy.DELETE
        rTrainSecretCB90A885.cfn_options.update_replace_policy = cdk.CfnDeletionPolicy.DELETE
        cdk.CfnOutput(
            self,
            "ClusterRepositoryUriC70BEBE2",
            description="muster:repository Cluster/Repository",
            value=cdk.Fn.join(
                "",
                [
                    cdk.Fn.select(4, cdk.Fn.split(":", rClusterRepositoryC89E8BFD.attr_arn)),
                    ".dkr.ecr.",
                    cdk.Fn.select(3, cdk.Fn.split(":", rClusterRepositoryC89E8BFD.attr_arn)),
                    ".",
                    cdk.Aws.URL_SUFFIX,
                    "/",
                    rClusterRepositoryC89E8BFD.ref,
                ],
            ),
        )
        cdk.CfnOutput(
            self,
            "ClusterQuotas0AE10AD8",
            description="muster:quotas Cluster",
            value="ec2/L-DB2E81BA Running On-Demand G and VT instances: 128; vpc/L-DF5E4CA3 Network interfaces per Region: 8; ebs/L-7A658B76 Storage for General Purpose SSD (gp3) volumes, in TiB: 1",
        )
        cdk.CfnOutput(
            self,
            "TrainDefinitionName16C6596F",
            description="muster:job-definition Train",
            value=cdk.Fn.select(
                0, cdk.Fn.split(":", cdk.Fn.select(1, cdk.Fn.split("/", rTrain781835F2.ref)))
            ),
        )
        cdk.CfnOutput(
            self,
            "TrainQueueArnE8339096",
            description="muster:job-queue Train",
            value=rClusterQueue73587731.attr_job_queue_arn,
        )
        cdk.CfnOutput(
            self,
            "TrainLogGroupName3FDADAD4",
            description="muster:log-group Train",
            value=rTrainLogGroup459AB3E1.ref,
        )
