#!/bin/bash
# Boothook: docker keeps images and containers on the instance store. Only the one key is set:
# limits and runtimes are flags of docker's unit, and a key that is in both stops docker.
set -eu
config=${HOST_ROOT:-}/etc/docker/daemon.json

mkdir -p "${config%/*}"
python3 - "$config" "$HOST_DOCKER_ROOT" <<'END'
import json, pathlib, sys

path = pathlib.Path(sys.argv[1])
text = path.read_text() if path.exists() else ""
settings = json.loads(text) if text.strip() else {}
settings["data-root"] = sys.argv[2]
path.write_text(json.dumps(settings, indent=2) + "\n")
END
