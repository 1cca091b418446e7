#!/bin/bash
# Boothook: a host whose file systems are not mounted does not join the cluster. A drop-in makes the
# agent's unit look first; systemd tries that unit again every 10 s. Nothing is started here: the
# agent and docker start by themselves, and waiting for them could deadlock the boot.
set -eu

# gate UNIT MOUNT_POINT...
gate() {
  local folder=${HOST_ROOT:-}/etc/systemd/system/$1.d point
  shift
  mkdir -p "$folder"
  {
    echo '[Service]'
    for point in "$@"; do echo "ExecStartPre=/usr/bin/mountpoint -q $point"; done
  } >"$folder/10-muster.conf"
}

read -ra points <<<"$HOST_GATES"
gate ecs.service "${points[@]}"
# Docker's data lie on the instance store: on the bare root volume they would fill it.
[ -z "${HOST_DOCKER_GATE:-}" ] || gate docker.service "$HOST_DOCKER_GATE"
systemctl daemon-reload
