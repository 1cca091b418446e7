#!/usr/bin/env bash
# Installs the Debian packages that some tests need. Only as root and where apt-get is; elsewhere
# the tests that need them are listed as not run.
set -euo pipefail

declare -A needs=([ip]=iproute2 [unshare]=util-linux [buildah]=buildah)

missing=()
for program in "${!needs[@]}"; do
  command -v "$program" >/dev/null 2>&1 || missing+=("${needs[$program]}")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "some tests will be listed as not run: they need root and ${missing[*]}"
  exit 0
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
