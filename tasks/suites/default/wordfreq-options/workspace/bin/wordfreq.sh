#!/bin/sh
# wordfreq: counts the words of a text.
# Prints "COUNT WORD" lines, the most frequent word first, words of equal count in alphabetical order.
set -eu
LC_ALL=C
export LC_ALL

cat -- "$@" |
    tr -cs 'A-Za-z' '\n' |
    awk '$0 != "" { count[$0]++ } END { for (word in count) print count[word], word }' |
    sort -k1,1nr -k2,2
