#!/bin/sh
# paginate.sh [-l LINES] FILE: prints a text in pages with footers.
set -eu
lines=5
while getopts 'l:' option; do
    case $option in
    l) lines=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
awk -v lines="$lines" -f "$(dirname "$0")/paginate.awk" "${1:?usage: paginate.sh [-l LINES] FILE}"
