#!/bin/sh
# wordfreq: counts the words of a text.
# Prints "COUNT WORD" lines, the most frequent word first, words of equal count in alphabetical order.
set -eu
LC_ALL=C
export LC_ALL

cat -- "$@" |
    tr -cs 'A-Za-z' '\n' |
    sed '/^$/d' |
    sort |
    uniq -c |
    awk '{ print $1, $2 }' |
    sort -k1,1nr -k2,2
