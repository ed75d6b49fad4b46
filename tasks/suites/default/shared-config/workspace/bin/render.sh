#!/bin/sh
# render.sh SERVICE: prints the settings of a service, sorted by key.
set -eu
LC_ALL=C
export LC_ALL

root=$(cd "$(dirname "$0")/.." && pwd)
service=${1:?usage: render.sh SERVICE}
file="$root/conf/$service.conf"

if [ ! -f "$file" ]; then
    echo "render: unknown service: $service" >&2
    exit 1
fi

grep -v -e '^#' -e '^$' "$file" | sort
