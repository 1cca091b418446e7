#!/bin/bash
# Boothook: the disks of the instance store as one file system, at every boot and before docker.
# They are found by their model, never by a device's name, which changes from type to type and boot
# to boot; no other disk, EBS above all, is looked at. A reboot finds array and data again; after a
# stop the disks are new and empty, and so are array and file system.
set -euo pipefail
scratch=${HOST_ROOT:-}$HOST_SCRATCH
model='Amazon EC2 NVMe Instance Storage'
name=muster

if mountpoint -q "$scratch"; then exit; fi

udevadm settle || true
mapfile -t disks < <(lsblk --nodeps --noheadings --paths --output NAME,MODEL |
  awk -v model="$model" 'index($0, model) { print $1 }' | sort -V)
if [ "${#disks[@]}" = 0 ]; then
  echo "muster: this host has no instance store for $HOST_SCRATCH" >&2
  exit 1
fi

# The array that the first disk is in already, whatever name the kernel gave it.
array() {
  lsblk --noheadings --raw --paths --output NAME,TYPE "${disks[0]}" | awk '$2 == "raid0" { print $1; exit }'
}

device=${disks[0]}
if [ "${#disks[@]}" -gt 1 ]; then
  command -v mdadm >/dev/null || dnf install --quiet --assumeyes mdadm
  device=$(array)
  if [ -z "$device" ]; then
    device=/dev/md/$name
    mdadm --assemble "$device" "${disks[@]}" ||
      mdadm --create "$device" --run --force --level=0 --name="$name" --raid-devices="${#disks[@]}" "${disks[@]}"
    udevadm settle || true
  fi
fi

if [ "$(blkid --output value --match-tag LABEL "$device" || true)" != "$name" ]; then
  mkfs.xfs -q -f -K -L "$name" "$device"
fi
mkdir -p "$scratch"
mount -o noatime "$device" "$scratch"
chmod 1777 "$scratch"
echo "muster: $HOST_SCRATCH is on $device, out of ${disks[*]}"
