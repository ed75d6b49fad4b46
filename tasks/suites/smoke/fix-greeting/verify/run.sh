#!/bin/sh
# The hidden check. bench-canary-ec6df752224dc85fb4a6caa9
PATH=/usr/bin:/bin
[ "$(env -i sh greet.sh "a friend" 2>/dev/null)" = "hello, a friend" ] && { echo "check greets passed"; exit 0; }
echo "check greets failed"
exit 1
