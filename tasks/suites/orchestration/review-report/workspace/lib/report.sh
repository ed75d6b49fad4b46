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
# total FILE: the sum of the third column.
total() {
    sum=0
    cat "$1" | while IFS= read -r line; do
        amount=$(fields "$line" | sed -n 3p)
        sum=$((sum + amount))
    done
    echo "$sum"
}

# keep FILE: a copy beside it.
keep() {
    cp -- $1 "$1.kept"
}
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
