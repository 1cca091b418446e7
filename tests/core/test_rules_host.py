"""Rules about how hosts start, as tables: what is given -> the exact sentence, or none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster_core.instances import lookup
from muster_core.rules import Problem, host, mounts, volume
from muster_core.rules.host import HostRequest

TOKEN_NUMBER = -1.8881545897087827e289
TOKEN_TEXT = "${Token[TOKEN.42]}"
P5 = lookup("p5.48xlarge")
GIB = 1024


def test_all_problems_of_a_host_come_together() -> None:
    request = HostRequest(
        root_volume_mib=200 * GIB,
        root_volume_type="gp3",
        root_volume_iops=1,
        hop_limit=0,
        stop_timeout_seconds=0,
        scratch=True,
        docker_on_scratch=True,
        mount_points=["fsx"],
        user_data_parts=["echo"],
    )
    assert [each.rule for each in host.check(lookup("trn1.2xlarge"), request)][1:] == [
        *("host.hop_limit", "host.stop_timeout", "host.mount_point", "host.part"),
    ]
    assert host.check(P5, HostRequest()) == []


@pytest.mark.parametrize("value", [1, 2, 64, None, TOKEN_NUMBER])
def test_hop_limits(value: float | None) -> None:
    assert host.hop_limit(value) == []


@pytest.mark.parametrize("value", [0, 65, 1.5])
def test_hop_limits_that_ec2_refuses(value: float) -> None:
    assert host.hop_limit(value) == [
        Problem(
            "host.hop_limit",
            f"metadata_hop_limit must be a whole number from 1 to 64, got {value!r}; 1 reaches the host alone, 2 its "
            "containers too",
        )
    ]


@pytest.mark.parametrize("value", [1, 120, 3600, None, TOKEN_NUMBER])
def test_stop_timeouts(value: float | None) -> None:
    assert host.stop_timeout(value) == []


@pytest.mark.parametrize("value", [0, -5, 3601, 0.5])
def test_stop_timeouts_that_are_none(value: float) -> None:
    assert host.stop_timeout(value) == [
        Problem(
            "host.stop_timeout",
            f"stop_timeout must be from 1 to 3600 s, got {value!r} s; a container that is told to end is killed after it; "
            "give what a checkpoint takes",
        )
    ]


@pytest.mark.parametrize(
    "paths",
    [
        [],
        ["/fsx"],
        ["/scratch", "/mnt/data.1"],
        ["/opt/data", "/var/data", "/etcetera"],
        ["/.a"],
        [TOKEN_TEXT, TOKEN_TEXT],
    ],
)
def test_mount_points(paths: list[str]) -> None:
    assert mounts.mount_points(paths) == []


@pytest.mark.parametrize(
    "path", ["fsx", "//", "/fsx/", "/a/../etc", "/./etc", "/.", "/with space", "/x;y", ""]
)
def test_mount_points_that_are_none(path: str) -> None:
    assert mounts.mount_points([path]) == [
        Problem(
            "host.mount_point",
            f"mount point is no folder of its own, got {path!r}; allowed is an absolute path of letters, digits, '.', '_' "
            "and '-' that the system does not use, such as '/fsx'; change it",
        )
    ]


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ("/", "/bin"),
        ("/etc", "/etc"),
        ("/etc/ecs", "/etc"),
        ("/dev/shm", "/dev"),
        ("/opt", "/opt/amazon"),
        ("/opt/amazon", "/opt/amazon"),
        ("/opt/amazon/efa", "/opt/amazon"),
        ("/opt/muster", "/opt/muster"),
        ("/usr/local", "/usr"),
        ("/var", "/var/cache"),
        ("/var/lib/docker", "/var/lib"),
    ],
)
def test_mount_points_that_hide_the_system(path: str, taken: str) -> None:
    assert mounts.mount_points([path]) == [
        Problem(
            "host.mount_point",
            f"mount point is where the system has its own files, got {path!r}; hosts and containers do not work without "
            f"what is in {taken!r}; use a folder such as '/fsx'",
        )
    ]


def test_a_mount_point_that_is_given_twice() -> None:
    assert mounts.mount_points(["/fsx", "/efs", "/fsx"]) == [
        Problem(
            "host.mount_point",
            "mount point is given twice, got '/fsx'; each file system has its own; change one",
        )
    ]


@pytest.mark.parametrize("identifier", ["fs-01234567", "fs-0123456789abcdef0", TOKEN_TEXT])
def test_ids_of_efs(identifier: str) -> None:
    assert mounts.efs(identifier) == []


@pytest.mark.parametrize("identifier", ["my-efs", "fs-1", "", "fs-0123456789ABCDEF0"])
def test_what_is_no_id_of_efs(identifier: str) -> None:
    assert mounts.efs(identifier) == [
        Problem(
            "host.file_system",
            f"file_system is not the id of an EFS file system, got {identifier!r}; an id is such as "
            "'fs-0123456789abcdef0'; correct it, or give the construct",
        )
    ]


def test_names_of_lustre() -> None:
    assert mounts.lustre("fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com", "abcdefgh") == []
    assert mounts.lustre(TOKEN_TEXT, TOKEN_TEXT) == []
    assert mounts.lustre("", "/fsx") == [
        Problem(
            "host.file_system",
            "dns_name is none of an FSx for Lustre file system, got ''; one is such as "
            "'fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com'; correct it",
        ),
        Problem(
            "host.file_system",
            "mount_name is none of an FSx for Lustre file system, got '/fsx'; one is such as 'abcdefgh'; correct it",
        ),
    ]


@pytest.mark.parametrize(
    "body",
    [
        None,
        "",
        TOKEN_TEXT,
        'Content-Type: multipart/mixed; boundary="x"\nMIME-Version: 1.0\n\n--x--',
        "MIME-Version: 1.0\ncontent-type: multipart/mixed; boundary=x\n\n",
    ],
)
def test_user_data_that_batch_can_merge(body: str | None) -> None:
    assert host.multipart(body) == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("#!/bin/bash\necho hello", "#!/bin/bash"),
        (f"#!/bin/bash\necho {TOKEN_TEXT}", "#!/bin/bash"),
        ("\n#cloud-config\n", "#cloud-config"),
        ("echo hello", "echo hello"),
    ],
)
def test_user_data_that_batch_cannot_merge(body: str, said: str) -> None:
    assert host.multipart(body) == [
        Problem(
            "host.multipart",
            f"user data of the launch template is no MIME multi-part archive, got {said!r}; AWS Batch merges its own part "
            "in, and the environment would become INVALID; use ec2.MultipartUserData",
        )
    ]


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/bash\necho hello",
        "#!/usr/bin/python3\nprint()",
        "#cloud-boothook\n#!/bin/bash\n",
        "#cloud-config\nruncmd: []",
        TOKEN_TEXT,
        "#!/bin/bash\n# never ECS_CLUSTER=x > /etc/ecs/ecs.config, nor systemctl restart docker\n",
        "#!/bin/bash\necho ECS_IMAGE_PULL_INACTIVITY_TIMEOUT=10m >> /etc/ecs/ecs.config",
        "#!/bin/bash\nsystemctl start --no-block ecs",
        "#!/bin/bash\nsystemctl --no-block restart docker",
        "#!/bin/bash\nsystemctl restart chronyd; echo docker",
        "#!/bin/bash\nsystemctl daemon-reload",
        "#!/bin/bash\necho A=b | tee -a /etc/ecs/ecs.config",
        "#!/bin/bash\necho A=b | tee --append /etc/ecs/ecs.config >/dev/null",
        '#!/bin/bash\necho A=b >> "/etc/ecs/ecs.config"',
        "#!/bin/bash\ncp /etc/ecs/ecs.config /var/tmp/before",
        "#cloud-config\nwrite_files:\n- path: /etc/ecs/ecs.config\n  append: true\n  content: A=b\n",
        "#cloud-config\nruncmd:\n- [systemctl, restart, --no-block, ecs]\n- [systemctl, restart, chronyd]\n",
        '#!/bin/bash\necho ECS_AVAILABLE_LOGGING_DRIVERS=\'["json-file","awslogs"]\' >> /etc/ecs/ecs.config',
        "#!/bin/bash\necho ECS_ENABLE_TASK_ENI=true >> /etc/ecs/ecs.config",
        "#!/bin/bash\necho ECS_RESERVED_MEMORY=256 >> /etc/ecs/ecs.config",
        "#!/bin/bash\nsystemctl disable chronyd; echo docker",
        "#!/bin/bash\necho\r\n",
    ],
)
def test_parts_that_are_right(text: str) -> None:
    assert host.part(text) == []


def test_a_part_of_no_known_kind() -> None:
    assert host.part("echo hello\nmore") == [
        Problem(
            "host.part",
            "user_data_parts has a part of no known kind, got 'echo hello'; the first line begins with one of #!, "
            "#cloud-boothook, #cloud-config; add it",
        )
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("echo ECS_CLUSTER=mine >> /etc/ecs/ecs.config", "ECS_CLUSTER="),
        ("echo ECS_INSTANCE_ATTRIBUTES={} >> /etc/ecs/ecs.config", "ECS_INSTANCE_ATTRIBUTES="),
        ("echo A=b > /etc/ecs/ecs.config", "> /etc/ecs/ecs.config"),
        ("cat <<EOF >/etc/ecs/ecs.config", ">/etc/ecs/ecs.config"),
        ('echo A=b > "/etc/ecs/ecs.config"', '> "/etc/ecs/ecs.config'),
        ("echo A=b | tee /etc/ecs/ecs.config", "tee /etc/ecs/ecs.config"),
        ("aws s3 cp s3://a/b /etc/ecs/ecs.config", "cp s3://a/b /etc/ecs/ecs.config"),
        ("mv /tmp/mine '/etc/ecs/ecs.config' && true", "mv /tmp/mine '/etc/ecs/ecs.config' "),
        ("curl -o /etc/ecs/ecs.config https://example.org", "-o /etc/ecs/ecs.config"),
    ],
)
def test_parts_that_take_batchs_settings_away(line: str, said: str) -> None:
    assert host.part(f"#!/bin/bash\n{line}\n") == [
        Problem(
            "host.batch_settings",
            f"user_data_parts has a part that takes AWS Batch's settings from it, got {said!r}; the host would not join "
            "the environment; remove it, and append other settings to /etc/ecs/ecs.config by >>",
        )
    ]


def test_a_configuration_that_takes_batchs_settings_away() -> None:
    (found,) = host.part("#cloud-config\nwrite_files:\n- path: /etc/ecs/ecs.config\n  content: A=b\n")
    assert found.rule == "host.batch_settings"
    assert ", got 'path: /etc/ecs/ecs.config'; the host would not join" in found.message


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "echo ECS_ENABLE_TASK_ENI=false >> /etc/ecs/ecs.config",
            (
                "takes from the ECS agent what multi-node jobs need, got 'ECS_ENABLE_TASK_ENI=false'; no job would start; "
                "remove it"
            ),
        ),
        (
            'echo ECS_AVAILABLE_LOGGING_DRIVERS=["json-file"]',
            (
                "takes from the ECS agent what multi-node jobs need, got 'ECS_AVAILABLE_LOGGING_DRIVERS=[\"json-file\"]'; "
                "no job would start; remove it"
            ),
        ),
        (
            "systemctl disable ecs",
            (
                "keeps docker or the ECS agent from starting, got 'systemctl disable ecs'; the host would not join the "
                "environment; remove it"
            ),
        ),
    ],
)
def test_parts_that_take_the_agent_away(line: str, said: str) -> None:
    assert host.part(f"#!/bin/bash\n{line}\n") == [
        Problem("host.agent", f"user_data_parts has a part that {said}")
    ]


def test_a_part_that_sets_the_stop_timeout() -> None:
    text = "#!/bin/bash\necho ECS_CONTAINER_STOP_TIMEOUT=5s >> /etc/ecs/ecs.config\n"
    assert host.part(text) == []  # so Muster's own does, and a whole template of the user's may
    assert host.check(P5, HostRequest(user_data_parts=[text])) == [
        Problem(
            "host.agent",
            "user_data_parts has a part that sets the time between SIGTERM and SIGKILL, got "
            "'ECS_CONTAINER_STOP_TIMEOUT='; the job's runtime would count by another; remove it, and give stop_timeout",
        )
    ]
    assert host.check(P5, HostRequest(user_data_parts=[text.replace("STOP_", "START_")])) == []


def test_parts_that_no_host_runs() -> None:
    assert host.part("#!/bin/bash\r\necho\r\n") == [
        Problem(
            "host.part",
            "user_data_parts has a program whose first line ends as on Windows, got '#!/bin/bash\\r'; the host would look for "
            "a program of that name; end lines by a line feed alone",
        )
    ]
    assert host.part("#!/bin/bash\n--+AWS+CDK+User+Data+Separator==\necho\n") == [
        Problem(
            "host.part",
            "user_data_parts has a part with a line that ends parts of the archive, got "
            "'--+AWS+CDK+User+Data+Separator=='; the rest of it would be lost; change the line",
        )
    ]


@pytest.mark.parametrize(
    "line",
    [
        "systemctl try-restart docker",
        "- [systemctl, restart, ecs]",
        'subprocess.run(["systemctl", "restart", "docker"])',
        "systemctl restart docker",
        "systemctl start ecs",
        "systemctl enable --now ecs",
        "systemctl -q restart docker.service",
        "systemctl stop ecs",
        "service docker restart",
    ],
)
def test_parts_that_wait_for_what_waits_for_them(line: str) -> None:
    (found,) = host.part(f"#!/bin/bash\n{line}\n")
    assert found.rule == "host.deadlock"
    assert found.message.startswith(
        "user_data_parts has a part that waits for docker or the ECS agent, got '"
    )
    assert found.message.endswith(
        "; both start after the user data, and waiting for them can deadlock the boot; remove it, or add --no-block"
    )


def test_user_data_has_a_limit() -> None:
    assert host.size("x" * 16384) == []
    assert host.size("é" * 8193) == [
        Problem(
            "host.user_data_size",
            "user data is too large, got 16386 bytes; EC2 takes 16384; shorten user_data_parts, or fetch long programs "
            "from S3",
        )
    ]


@pytest.mark.parametrize(
    ("kind", "gib", "iops", "throughput"),
    [
        ("gp3", 200, None, None),
        ("gp3", 200, 3000, 750),
        ("gp3", 200, None, 750),
        ("gp3", 200, 80000, 2000),
        ("gp3", 30, 15000, 2000),
        ("gp3", None, 80000, None),
        ("io2", 300, 256000, None),
        ("io2", 30, 100, None),
        ("io2", 30, TOKEN_NUMBER, None),
        ("gp3", TOKEN_NUMBER, 80000, TOKEN_NUMBER),
        (TOKEN_TEXT, 30, 1, 1),
    ],
)
def test_volumes_that_ebs_has(
    kind: str, gib: float | None, iops: float | None, throughput: float | None
) -> None:
    size = gib if gib in (None, TOKEN_NUMBER) else gib * GIB
    assert volume.performance(kind, size, iops, throughput) == []


@pytest.mark.parametrize(
    ("arguments", "rule", "message"),
    [
        (
            ("gp2", 200 * GIB, None, None),
            "volume.type",
            (
                "root_volume_type is none that muster uses, got 'gp2'; allowed: gp3, io2; older types are slower at no lower "
                "price; change it"
            ),
        ),
        (
            ("io2", 200 * GIB, None, None),
            "volume.iops",
            "root_volume_iops is missing for io2, got None; EC2 wants a number from 100 to 256000; give one",
        ),
        (
            ("gp3", 200 * GIB, 2999, None),
            "volume.iops",
            (
                "root_volume_iops must be a whole number from 3000 to 80000 for this gp3 volume, got 2999; it may have 500 per "
                "GiB and at most 80000; change it or root_volume_size"
            ),
        ),
        (
            ("gp3", 30 * GIB, 15001, None),
            "volume.iops",
            (
                "root_volume_iops must be a whole number from 3000 to 15000 for this gp3 volume, got 15001; it may have 500 "
                "per GiB and at most 80000; change it or root_volume_size"
            ),
        ),
        (
            ("io2", 100 * GIB, 100001, None),
            "volume.iops",
            (
                "root_volume_iops must be a whole number from 100 to 100000 for this io2 volume, got 100001; it may have 1000 "
                "per GiB and at most 256000; change it or root_volume_size"
            ),
        ),
        (
            ("io2", 100 * GIB, 1000, 500),
            "volume.throughput",
            (
                "root_volume_throughput is not an option of io2, got 500; its throughput follows from root_volume_iops; leave "
                "it out"
            ),
        ),
        (
            ("gp3", 200 * GIB, None, 751),
            "volume.throughput",
            (
                "root_volume_throughput must be a whole number from 125 to 750 MiB/s for this gp3 volume, got 751; it may have "
                "1 MiB/s per 4 IOPS and at most 2000; change it or root_volume_iops"
            ),
        ),
        (
            ("gp3", 200 * GIB, 80000, 124),
            "volume.throughput",
            (
                "root_volume_throughput must be a whole number from 125 to 2000 MiB/s for this gp3 volume, got 124; it may "
                "have 1 MiB/s per 4 IOPS and at most 2000; change it or root_volume_iops"
            ),
        ),
    ],
)
def test_volumes_that_ebs_has_not(arguments: tuple, rule: str, message: str) -> None:
    assert volume.performance(*arguments) == [Problem(rule, message)]


def test_scratch_needs_an_instance_store() -> None:
    assert volume.instance_store(P5, scratch=True, docker=True) == []
    assert volume.instance_store(lookup("inf2.48xlarge"), scratch=False, docker=False) == []
    assert volume.instance_store(lookup("inf2.48xlarge"), scratch=True, docker=False) == [
        Problem(
            "volume.scratch",
            "scratch needs an instance store, and inf2.48xlarge has none; use a type with NVMe disks such as 'g6.8xlarge' "
            "or 'p5.48xlarge', or leave scratch out and raise root_volume_size",
        )
    ]


def test_docker_s_data_need_the_scratch_file_system() -> None:
    assert volume.instance_store(P5, scratch=False, docker=True) == [
        Problem(
            "volume.docker_root",
            "docker_on_scratch needs the scratch file system, got scratch=False; set scratch=True too",
        )
    ]


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    gib=st.integers(30, 65536),
    iops=st.none() | st.integers(0, 300000),
    throughput=st.none() | st.integers(0, 3000),
)
def test_a_gp3_volume_is_refused_just_where_ebs_would(
    gib: int, iops: int | None, throughput: int | None
) -> None:
    # Written a second time, out of the table "General Purpose SSD volumes" of the EBS user guide.
    has = 3000 if iops is None else iops
    right_iops = iops is None or (3000 <= iops <= 80000 and iops <= max(3000, 500 * gib))
    right_throughput = throughput is None or (125 <= throughput <= 2000 and throughput * 4 <= has)
    found = volume.performance("gp3", gib * GIB, iops, throughput)
    assert ("volume.iops" in {each.rule for each in found}) != right_iops
    assert ("volume.throughput" in {each.rule for each in found}) != right_throughput
