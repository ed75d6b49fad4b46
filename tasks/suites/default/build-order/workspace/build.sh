#!/bin/sh
# build.sh [TARGET...]: builds targets and what they need. Without arguments: all.
set -u
cd "$(dirname "$0")" || exit 1
mkdir -p out
finished=" "

# lookup TARGET: sets `needs`; status 1 for an unknown target.
lookup() {
    while IFS=: read -r name needs; do
        [ "$name" != "$1" ] || return 0
    done < targets.txt
    return 1
}

build() {
    target=$1
    if ! lookup "$target"; then
        echo "build: unknown target: $target" >&2
        exit 2
    fi
    for need in $needs; do
        build "$need"
    done
    case $finished in
    *" $target "*) return ;;
    esac
    echo "building $target"
    sh "recipes/$target.sh"
    finished="$finished$target "
}

[ $# -gt 0 ] || set -- all
for wanted in "$@"; do
    build "$wanted"
done
