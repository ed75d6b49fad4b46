#!/bin/sh
# build.sh [TARGET...]: builds targets and what they need. Without arguments: all.
set -u
cd "$(dirname "$0")" || exit 1
mkdir -p out
finished=" "

known() {
    grep -q "^$1:" targets.txt
}

needs() {
    sed -n "s/^$1:[ ]*//p" targets.txt
}

build() {
    target=$1
    if ! known "$target"; then
        echo "build: unknown target: $target" >&2
        exit 2
    fi
    for need in $(needs "$target"); do
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
