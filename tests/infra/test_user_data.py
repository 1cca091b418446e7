"""The user data really runs: each part as it stands in the archive, on a fake host, at the first boot and later ones."""

import base64
import email
import json
import subprocess
import sys
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from host_fakes import EPHEMERAL, Host
from infra_synth import REPOSITORY, stack

from muster_cdk.storage import SharedFileSystem
from muster_cdk.user_data import HostSettings, check_imported, parts, render, to_parts
from muster_core.rules import host as rules

FILES = REPOSITORY / "infra" / "src" / "muster_cdk" / "files"
FSX = SharedFileSystem.lustre(dns_name="fs-1.fsx.example", mount_name="abc")
EFS = SharedFileSystem.efs("fs-0123456789abcdef2", mount_point="/data", options="tls")


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def named(calls, *names):
    return [call for call in calls if call[0] in names]


SCRATCH = HostSettings(stop_timeout=120, scratch=True)


def test_the_first_boot_joins_the_instance_store(host):
    calls, codes = host.boot(SCRATCH)
    assert set(codes) == {0}
    disks = [f"/dev/nvme{index}n1" for index in range(1, 5)]
    assert named(calls, "mdadm")[-1] == [
        *(
            "mdadm",
            "--create",
            "/dev/md/muster",
            "--run",
            "--force",
            "--level=0",
            "--name=muster",
            "--raid-devices=4",
        ),
        *disks,
    ]
    assert named(calls, "mkfs.xfs") == [["mkfs.xfs", "-q", "-f", "-K", "-L", "muster", "/dev/md/muster"]]
    assert host.is_["mounts"] == {f"{host.root}/scratch": "/dev/md/muster"}
    assert (host.root / "scratch").stat().st_mode & 0o7777 == 0o1777


def test_ebs_is_never_named(host):
    calls, _ = host.boot(SCRATCH)
    text = json.dumps(calls)
    assert "nvme0n1" not in text
    assert "nvme10n1" not in text


def test_a_second_run_changes_nothing(host):
    host.boot(SCRATCH)
    before = host.is_
    calls, codes = host.boot(SCRATCH)
    assert set(codes) == {0}
    assert named(calls, "mdadm", "mkfs.xfs", "mount", "lsblk") == []
    assert host.is_ == before


@pytest.mark.parametrize("array", [None, "/dev/md127"])
def test_a_reboot_finds_array_and_data_again(host, array):
    host.boot(SCRATCH)
    host.reboot(array)
    calls, codes = host.boot(SCRATCH)
    assert set(codes) == {0}
    assert not any("--create" in call for call in calls)
    assert named(calls, "mkfs.xfs") == []
    assert host.is_["mounts"] == {f"{host.root}/scratch": array or "/dev/md/muster"}


def test_a_stop_and_start_makes_a_new_one_of_the_empty_disks(host):
    host.boot(SCRATCH)
    host.stop_and_start()
    calls, codes = host.boot(SCRATCH)
    assert set(codes) == {0}
    assert len(named(calls, "mkfs.xfs")) == 1
    assert host.is_["mounts"] == {f"{host.root}/scratch": "/dev/md/muster"}


def test_one_disk_needs_no_array(tmp_path):
    host = Host(tmp_path, disks=1)
    calls, _ = host.boot(SCRATCH)
    assert named(calls, "mdadm") == []
    assert host.is_["mounts"] == {f"{host.root}/scratch": "/dev/nvme1n1"}
    host.reboot()
    calls, _ = host.boot(SCRATCH)
    assert named(calls, "mkfs.xfs") == []
    assert host.is_["mounts"] == {f"{host.root}/scratch": "/dev/nvme1n1"}


def test_more_than_nine_disks_keep_their_order(tmp_path):
    host = Host(tmp_path, disks=9)
    host.change(
        disks={
            f"/dev/nvme{n}n1": {"model": EPHEMERAL, "array": None, "label": None} for n in range(11, 0, -1)
        }
    )
    calls, _ = host.boot(SCRATCH)
    assert named(calls, "mdadm")[-1][-11:] == [f"/dev/nvme{n}n1" for n in range(1, 12)]


def test_a_host_without_a_store_fails_and_stays_outside(tmp_path):
    host = Host(tmp_path, disks=0)
    calls, codes = host.boot(SCRATCH)
    assert sorted(set(codes)) == [0, 1]
    assert named(calls, "mdadm", "mkfs.xfs", "mount") == []
    assert "ExecStartPre=/usr/bin/mountpoint -q /scratch\n" in host.read(
        "etc/systemd/system/ecs.service.d/10-muster.conf"
    )


def test_the_gates_name_every_mount(host):
    settings = HostSettings(stop_timeout=120, scratch=True, docker_on_scratch=True, file_systems=[FSX, EFS])
    calls, codes = host.boot(settings)
    assert set(codes) == {0}
    assert host.read("etc/systemd/system/ecs.service.d/10-muster.conf") == (
        "[Service]\n"
        "ExecStartPre=/usr/bin/mountpoint -q /scratch\n"
        "ExecStartPre=/usr/bin/mountpoint -q /fsx\n"
        "ExecStartPre=/usr/bin/mountpoint -q /data\n"
    )
    assert host.read("etc/systemd/system/docker.service.d/10-muster.conf") == (
        "[Service]\nExecStartPre=/usr/bin/mountpoint -q /scratch\n"
    )
    assert ["systemctl", "daemon-reload"] in calls


def test_nothing_is_started_and_waited_for(host):
    calls, _ = host.boot(
        HostSettings(stop_timeout=120, scratch=True, docker_on_scratch=True, file_systems=[FSX])
    )
    started = [call for call in named(calls, "systemctl") if "daemon-reload" not in call]
    assert started == [
        ["systemctl", "start", "--no-block", "muster-mounts.service"],
        ["systemctl", "start", "--no-block", "muster-watch.service"],
    ]


def test_without_mounts_there_is_no_gate(host):
    host.boot(HostSettings(stop_timeout=120))
    assert not (host.root / "etc/systemd/system/ecs.service.d").exists()


def test_docker_s_one_key_is_added_to_what_is_there(host):
    settings = HostSettings(stop_timeout=120, scratch=True, docker_on_scratch=True)
    host.boot(settings)
    assert json.loads(host.read("etc/docker/daemon.json")) == {"data-root": "/scratch/docker"}
    (host.root / "etc/docker/daemon.json").write_text('{"debug": true}')
    host.boot(settings)
    assert json.loads(host.read("etc/docker/daemon.json")) == {"debug": True, "data-root": "/scratch/docker"}


@pytest.mark.parametrize("before", [None, "", "ECS_CLUSTER=batch\n", "ECS_CLUSTER=batch"])
def test_the_stop_timeout_is_appended_once(host, before):
    path = host.root / "etc/ecs/ecs.config"
    if before is not None:
        path.parent.mkdir(parents=True)
        path.write_text(before)
    for _ in range(2):
        host.boot(HostSettings(stop_timeout=300))
    assert path.read_text().splitlines() == [*(before or "").splitlines(), "ECS_CONTAINER_STOP_TIMEOUT=300s"]


def test_shared_file_systems_are_mounted_by_a_unit_that_is_tried_again(host):
    host.boot(HostSettings(stop_timeout=120, file_systems=[FSX, EFS]))
    assert host.is_["mounts"] == {}
    unit = host.read("etc/systemd/system/muster-mounts.service")
    assert "After=network-online.target\n" in unit
    assert "KillMode=process\n" in unit
    assert "Restart=on-failure\nRestartSec=10\n" in unit

    host.change(unreachable="efs lustre")
    failed = host.start("muster-mounts.service")
    assert failed.returncode == 1
    assert "muster: /fsx is not mounted from fs-1.fsx.example@tcp:/abc\n" in failed.stderr

    host.change(unreachable="")
    assert host.start("muster-mounts.service").returncode == 0
    mounted = {f"{host.root}/fsx": "fs-1.fsx.example@tcp:/abc", f"{host.root}/data": "fs-0123456789abcdef2:/"}
    assert host.is_["mounts"] == mounted
    assert [
        "mount",
        "-t",
        "lustre",
        "-o",
        "noatime,flock,_netdev",
        *next(iter(mounted.items()))[::-1],
    ] in host.calls()
    assert ["mount", "-t", "efs", "-o", "tls", *list(mounted.items())[1][::-1]] in host.calls()


def test_what_is_mounted_is_left_alone_and_a_client_is_installed_once(host):
    host.boot(HostSettings(stop_timeout=120, file_systems=[FSX]))
    for _ in range(2):
        assert host.start("muster-mounts.service").returncode == 0
    assert len(named(host.calls(), "dnf")) == 1
    assert len(named(host.calls(), "mount")) == 1


def test_one_that_is_missing_does_not_keep_the_others_out(host):
    host.boot(HostSettings(stop_timeout=120, file_systems=[FSX, EFS]))
    host.change(unreachable="lustre")
    failed = host.start("muster-mounts.service")
    assert (failed.returncode, failed.stderr) == (
        1,
        "muster: /fsx is not mounted from fs-1.fsx.example@tcp:/abc\n",
    )
    assert host.is_["mounts"] == {f"{host.root}/data": "fs-0123456789abcdef2:/"}


def test_every_file_is_used_and_held_by_shellcheck():
    used = render(HostSettings(stop_timeout=1, scratch=True, docker_on_scratch=True, file_systems=[FSX]))
    for path in [*FILES.glob("*.sh"), FILES / "watch.py"]:
        code = [line for line in path.read_text().splitlines() if line and not line.lstrip().startswith("#")]
        assert all(line in used for line in code), path.name
    shellcheck = Path(sys.executable).parent / "shellcheck"
    found = subprocess.run([shellcheck, *FILES.glob("*.sh")], capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (0, "")


def test_all_options_together_are_within_the_limit():
    everything = HostSettings(
        stop_timeout=3600, scratch=True, docker_on_scratch=True, file_systems=[FSX, EFS], ending=2_000_000_000
    )
    assert rules.size(render(everything)) == []
    assert len(render(everything)) < 10_000  # the rest is for Batch's part and the user's


def test_each_part_keeps_the_rules_that_a_user_s_must():
    everything = HostSettings(stop_timeout=120, scratch=True, docker_on_scratch=True, file_systems=[FSX, EFS])
    assert [problem for _, text in parts(everything) for problem in rules.part(text)] == []


def test_own_parts_come_last_and_as_what_they_are():
    own = to_parts(
        [
            "#!/bin/bash\necho",
            "#cloud-config\nruncmd: []\n",
            "#cloud-boothook\n#!/bin/sh\n",
            ec2.UserData.for_linux(),
        ]
    )
    settings = HostSettings(stop_timeout=120, parts=own)
    kinds = [kind.partition(";")[0] for kind, _ in parts(settings)][-4:]
    assert kinds == ["text/x-shellscript", "text/cloud-config", "text/cloud-boothook", "text/x-shellscript"]
    message = email.message_from_string(render(settings))
    assert [part.get_payload().rstrip("\n") for part in message.get_payload()][-4] == "#!/bin/bash\necho"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            "#!/bin/sh",
            "user_data_parts must be a list of str or ec2.UserData, got str '#!/bin/sh'; change it",
        ),
        ([1], "user_data_parts[0] must be a str or an ec2.UserData, got int 1; change it"),
    ],
)
def test_parts_of_a_wrong_type(given, sentence):
    with pytest.raises(TypeError) as caught:
        to_parts(given)
    assert str(caught.value) == sentence


def shell_template(scope):
    return ec2.LaunchTemplate(scope, "Own", user_data=ec2.UserData.for_linux())


def mime_template(scope):
    data = ec2.MultipartUserData()
    data.add_user_data_part(ec2.UserData.for_linux())
    return ec2.LaunchTemplate(scope, "Own", user_data=data)


def raw_template(scope):
    return ec2.CfnLaunchTemplate(
        scope, "Own", launch_template_data={"userData": cdk.Fn.base64("#!/bin/bash\necho")}
    )


def encoded_template(scope):
    properties = ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(
        user_data=base64.b64encode(b"#!/bin/bash\necho").decode()
    )
    return ec2.CfnLaunchTemplate(scope, "Own", launch_template_data=properties)


def bare_template(scope):
    return ec2.CfnLaunchTemplate(scope, "Own", launch_template_data={})


def imported_template(scope):
    return ec2.LaunchTemplate.from_launch_template_attributes(scope, "Own", launch_template_id="lt-1")


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (shell_template, True),
        (raw_template, True),
        (encoded_template, True),
        (mime_template, False),
        (bare_template, False),
        (imported_template, False),
    ],
)
def test_a_template_that_was_made_elsewhere_is_refused_where_its_body_is_seen(tmp_path, make, wrong):
    found = check_imported(make(stack(tmp_path)))
    assert [each.rule for each in found] == (["host.multipart"] if wrong else [])
