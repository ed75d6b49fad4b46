#!/bin/sh
# normalise.sh LOGFILE: prints "TIME SERVICE STATUS MS" for each request of a log.
set -eu
sed -n 's/^\([^ ]*\) gateway service=\([^ ]*\) status=\([0-9]*\) ms=\([0-9]*\).*/\1 \2 \3 \4/p' "${1:?usage: normalise.sh LOGFILE}"
