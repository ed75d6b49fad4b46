#!/usr/bin/env bash
# The shards as one run, and its verdict as exit code; in any pod that sees the volume.
set -euo pipefail

runs=${RUNS:?directory that holds the shards}
bench merge "$runs"/shard-* -o "$runs/whole"
bench gate "$runs/whole"
