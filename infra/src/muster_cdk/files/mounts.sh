#!/bin/bash
# Shared file systems. As a boothook this installs itself as a unit and starts that without
# waiting; as the unit (`run`) it mounts what is missing, and fails where something still is:
# systemd runs it again after 10 s. Until then the agent's gate keeps the host out of the cluster.
# A new try leaves alone what an old one left: the tunnel of a mount by TLS is one of its processes.
set -u
root=${HOST_ROOT:-}
program=$root/usr/local/libexec/muster/mounts

install_unit() {
  local unit=$root/etc/systemd/system/muster-mounts.service
  install -D -m 0755 "$0" "$program"
  mkdir -p "${unit%/*}"
  cat >"$unit" <<END
[Unit]
Description=Shared file systems of Muster
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
RemainAfterExit=yes
KillMode=process
ExecStart=$program run
Restart=on-failure
RestartSec=10
END
  systemctl daemon-reload
  systemctl start --no-block muster-mounts.service
}

client() {
  case $1 in
    lustre) modprobe lustre || dnf install --quiet --assumeyes lustre-client ;;
    efs) command -v mount.efs >/dev/null || dnf install --quiet --assumeyes amazon-efs-utils ;;
  esac
}

# mount_one KIND SOURCE MOUNT_POINT OPTIONS
mount_one() {
  if mountpoint -q "$root$3"; then return; fi
  client "$1" && mkdir -p "$root$3" && timeout 180 mount -t "$1" -o "$4" "$2" "$root$3"
}

run() {
  local kind source point options missing=0
  while read -r kind source point options; do
    mount_one "$kind" "$source" "$point" "$options" </dev/null && continue
    echo "muster: $point is not mounted from $source" >&2
    missing=1
  done <<<"$HOST_MOUNTS"
  return "$missing"
}

if [ "${1:-}" = run ]; then run; else install_unit; fi
