#!/bin/sh
# The hidden check. bench-canary-071c629604116d64923d2ea8
[ "$(cat hello.txt 2>/dev/null)" = "hello, bench" ] && { echo "check hello passed"; exit 0; }
echo "check hello failed"
exit 1
