#!/usr/bin/env bash
# What every pod of indexed-job.yaml runs. Kubernetes counts from 0, shards count from 1. A pod that was evicted is started
# again with the same index and goes on where it was.
set -euo pipefail

file=${EXPERIMENT:?path of the experiment file}
runs=${RUNS:?directory for the shards, on a volume that all pods see}
of=${SHARDS:?as many as spec.completions}
index=$((${JOB_COMPLETION_INDEX:?set by an Indexed Job} + 1))

# The pod's main process gets TERM when it is evicted: the cells in flight are finished first.
bench run "$file" --shard "$index/$of" -o "$runs/shard-$index" -j "${JOBS:-1}" --yes &
child=$!
trap 'kill -INT "$child"' INT TERM
code=0
while kill -0 "$child" 2>/dev/null; do
    wait "$child" && code=0 || code=$?
done
exit "$code"
