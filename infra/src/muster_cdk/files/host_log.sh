#!/bin/bash
# Runs once when a node's host boots, and only writes to its log. It says which driver stands
# behind each device that a job maps (/dev/infiniband/uverbsN): on some types other RDMA devices
# are numbered among the EFA ones. Nothing here may fail or start a service: the ECS agent starts
# after user data, whatever its outcome, and a blocking start here could deadlock with it.
set -u

report() {
  local device driver found=0
  for device in /sys/class/infiniband_verbs/uverbs*; do
    [ -e "$device" ] || continue
    found=1
    driver=$(basename "$(readlink -f "$device/device/driver")")
    echo "muster: $(basename "$device") is $(cat "$device/ibdev" 2>/dev/null), driver $driver"
  done
  [ "$found" = 1 ] || echo "muster: this host has no /dev/infiniband/uverbs device"
}

report | tee -a /var/log/muster-host.log >/dev/console 2>&1 || true
