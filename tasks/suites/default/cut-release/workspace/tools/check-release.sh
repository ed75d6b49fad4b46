#!/bin/sh
# Does every place carry the version of the file VERSION? Usage: sh tools/check-release.sh
cd "$(dirname "$0")/.." || exit 1
version=$(cat VERSION)
wrong=0

place() { # NAME FOUND
    if [ "$2" = "$version" ]; then
        echo "ok   $1"
    else
        echo "WRONG $1: ${2:-nothing} instead of $version"
        wrong=1
    fi
}

place bin/tally.sh "$(sed -n 's/^version=//p' bin/tally.sh)"
place docs/install.md "$(sed -n 's/.*tally-\([0-9.]*\)\.tar\.gz.*/\1/p' docs/install.md | sort -u)"
place CHANGELOG.md "$(sed -n 's/^## \([0-9.]*\) - .*/\1/p' CHANGELOG.md | head -n 1)"

exit "$wrong"
