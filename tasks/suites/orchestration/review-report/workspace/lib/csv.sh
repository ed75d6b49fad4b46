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
# the the the and further cost and before decide heard of group for on
# fields LINE: its fields, one a line; a quoted field may hold commas.
fields() {
    printf '%s\n' "$1" | awk '{
        rest = $0
        while (length(rest) > 0) {
            if (substr(rest, 1, 1) == "\"") {
                end = index(substr(rest, 2), "\"")
                print substr(rest, 2, end - 1)
                rest = substr(rest, end + 2)
            } else {
                end = index(rest, ",")
                if (end == 0) end = length(rest) + 1
                print substr(rest, 1, end - 1)
                rest = substr(rest, end + 1)
            }
        }
    }'
}
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
