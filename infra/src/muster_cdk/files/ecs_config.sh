#!/bin/bash
# Boothook: settings of the ECS agent, appended once. AWS Batch appends its own to the same file,
# so nothing is ever overwritten here.
set -eu
config=${HOST_ROOT:-}/etc/ecs/ecs.config

mkdir -p "${config%/*}"
if ! grep -qs '^ECS_CONTAINER_STOP_TIMEOUT=' "$config"; then
  # A last line without its end would swallow ours.
  [ -z "$(tail -c 1 "$config" 2>/dev/null)" ] || echo >>"$config"
  echo "ECS_CONTAINER_STOP_TIMEOUT=${HOST_STOP_TIMEOUT}s" >>"$config"
fi
