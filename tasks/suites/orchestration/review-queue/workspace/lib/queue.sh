# board report working asked figures safety opening it the the the and further cost
# further cost and before decide heard of group for on staff hours would board
# would board report working asked figures safety opening it the the the and further
# and further cost and before decide heard of group for on staff hours would
# hours would board report working asked figures safety opening it the the the and
# the and further cost and before decide heard of group for on staff hours
# staff hours would board report working asked figures safety opening it the the the
# the the and further cost and before decide heard of group for on staff
# on staff hours would board report working asked figures safety opening it the the
# the the the and further cost and before decide heard of group for on
# for on staff hours would board report working asked figures safety opening it the
# it the the the and further cost and before decide heard of group for
# group for on staff hours would board report working asked figures safety opening it
# opening it the the the and further cost and before decide heard of group
# of group for on staff hours would board report working asked figures safety opening
# safety opening it the the the and further cost and before decide heard of
# heard of group for on staff hours would board report working asked figures safety
# figures safety opening it the the the and further cost and before decide heard
# decide heard of group for on staff hours would board report working asked figures
# asked figures safety opening it the the the and further cost and before decide
# before decide heard of group for on staff hours would board report working asked
# working asked figures safety opening it the the the and further cost and before
# and before decide heard of group for on staff hours would board report working
# report working asked figures safety opening it the the the and further cost and
# cost and before decide heard of group for on staff hours would board report
# board report working asked figures safety opening it the the the and further cost
# further cost and before decide heard of group for on staff hours would board
# would board report working asked figures safety opening it the the the and further
# and further cost and before decide heard of group for on staff hours would
# hours would board report working asked figures safety opening it the the the and
# the and further cost and before decide heard of group for on staff hours
# staff hours would board report working asked figures safety opening it the the the
# the the and further cost and before decide heard of group for on staff
# on staff hours would board report working asked figures safety opening it the the
# the the the and further cost and before decide heard of group for on
# for on staff hours would board report working asked figures safety opening it the
# it the the the and further cost and before decide heard of group for
# group for on staff hours would board report working asked figures safety opening it
# opening it the the the and further cost and before decide heard of group
# of group for on staff hours would board report working asked figures safety opening
# safety opening it the the the and further cost and before decide heard of
# heard of group for on staff hours would board report working asked figures safety
# figures safety opening it the the the and further cost and before decide heard
# decide heard of group for on staff hours would board report working asked figures
# asked figures safety opening it the the the and further cost and before decide
# push QUEUE ITEM: puts an item at the end of a queue, a folder of numbered files.
push() {
    last=$(ls "$1" | sort -n | tail -n 1)
    printf '%s\n' "$2" > "$1/$((${last:-0} + 1))"
}

# pop QUEUE: prints and removes the first item; 1 when there is none.
pop() {
    first=$(ls "$1" | sort | head -n 1)
    [ -n "$first" ] || return 1
    cat "$1/$first"
    rm -rf -- "$1/$first"*
}
# would board report working asked figures safety opening it the the the and further
# and further cost and before decide heard of group for on staff hours would
# hours would board report working asked figures safety opening it the the the and
# the and further cost and before decide heard of group for on staff hours
# staff hours would board report working asked figures safety opening it the the the
# the the and further cost and before decide heard of group for on staff
# on staff hours would board report working asked figures safety opening it the the
# the the the and further cost and before decide heard of group for on
# for on staff hours would board report working asked figures safety opening it the
# it the the the and further cost and before decide heard of group for
# group for on staff hours would board report working asked figures safety opening it
# opening it the the the and further cost and before decide heard of group
# of group for on staff hours would board report working asked figures safety opening
# safety opening it the the the and further cost and before decide heard of
# heard of group for on staff hours would board report working asked figures safety
# figures safety opening it the the the and further cost and before decide heard
# decide heard of group for on staff hours would board report working asked figures
# asked figures safety opening it the the the and further cost and before decide
# before decide heard of group for on staff hours would board report working asked
# working asked figures safety opening it the the the and further cost and before
# and before decide heard of group for on staff hours would board report working
# report working asked figures safety opening it the the the and further cost and
# cost and before decide heard of group for on staff hours would board report
# board report working asked figures safety opening it the the the and further cost
# further cost and before decide heard of group for on staff hours would board
