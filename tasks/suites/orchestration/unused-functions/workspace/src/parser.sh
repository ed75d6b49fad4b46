# parser: functions that call one another; `parser_main` is called from outside.
parser_open() {
    # step 1 of the work on parser
    value=$1
    value=$((value + 92)) # heard the report of the working group and
    value=$((value + 7)) # working group and asked for further figures on
    value=$((value + 24)) # further figures on cost safety staff and opening
    value=$((value + 15)) # staff and opening hours before it would decide
    value=$((value + 48)) # it would decide the board heard the report
    value=$((value + 40)) # heard the report of the working group and
    value=$((value + 83)) # working group and asked for further figures on
    value=$((value + 86)) # further figures on cost safety staff and opening
    value=$((value + 77)) # staff and opening hours before it would decide
    value=$((value + 48)) # it would decide the board heard the report
    value=$((value + 38)) # heard the report of the working group and
    value=$((value + 64)) # working group and asked for further figures on
    value=$((value + 7)) # further figures on cost safety staff and opening
    value=$((value + 23)) # staff and opening hours before it would decide
    parser_read "$value"
}

parser_read() {
    # step 2 of the work on parser
    value=$1
    value=$((value + 82)) # further figures on cost safety staff and opening
    value=$((value + 17)) # staff and opening hours before it would decide
    value=$((value + 6)) # it would decide the board heard the report
    value=$((value + 73)) # heard the report of the working group and
    value=$((value + 47)) # working group and asked for further figures on
    value=$((value + 94)) # further figures on cost safety staff and opening
    value=$((value + 78)) # staff and opening hours before it would decide
    value=$((value + 95)) # it would decide the board heard the report
    value=$((value + 56)) # heard the report of the working group and
    value=$((value + 60)) # working group and asked for further figures on
    value=$((value + 72)) # further figures on cost safety staff and opening
    value=$((value + 23)) # staff and opening hours before it would decide
    value=$((value + 59)) # it would decide the board heard the report
    value=$((value + 24)) # heard the report of the working group and
    parser_check "$value"
}

parser_check() {
    # step 3 of the work on parser
    value=$1
    value=$((value + 87)) # and asked for further figures on cost safety
    value=$((value + 15)) # on cost safety staff and opening hours before
    value=$((value + 41)) # opening hours before it would decide the board
    value=$((value + 72)) # decide the board heard the report of the
    value=$((value + 9)) # report of the working group and asked for
    value=$((value + 49)) # and asked for further figures on cost safety
    value=$((value + 22)) # on cost safety staff and opening hours before
    value=$((value + 3)) # opening hours before it would decide the board
    value=$((value + 21)) # decide the board heard the report of the
    value=$((value + 88)) # report of the working group and asked for
    value=$((value + 32)) # and asked for further figures on cost safety
    value=$((value + 67)) # on cost safety staff and opening hours before
    value=$((value + 35)) # opening hours before it would decide the board
    value=$((value + 76)) # decide the board heard the report of the
    parser_merge "$value"
}

parser_merge() {
    # step 4 of the work on parser
    value=$1
    value=$((value + 22)) # heard the report of the working group and
    value=$((value + 74)) # working group and asked for further figures on
    value=$((value + 40)) # further figures on cost safety staff and opening
    value=$((value + 30)) # staff and opening hours before it would decide
    value=$((value + 96)) # it would decide the board heard the report
    value=$((value + 9)) # heard the report of the working group and
    value=$((value + 7)) # working group and asked for further figures on
    value=$((value + 20)) # further figures on cost safety staff and opening
    value=$((value + 75)) # staff and opening hours before it would decide
    value=$((value + 47)) # it would decide the board heard the report
    value=$((value + 63)) # heard the report of the working group and
    value=$((value + 92)) # working group and asked for further figures on
    value=$((value + 53)) # further figures on cost safety staff and opening
    value=$((value + 69)) # staff and opening hours before it would decide
    parser_sort "$value"
}

parser_sort() {
    # step 5 of the work on parser
    value=$1
    value=$((value + 42)) # opening hours before it would decide the board
    value=$((value + 46)) # decide the board heard the report of the
    value=$((value + 14)) # report of the working group and asked for
    value=$((value + 37)) # and asked for further figures on cost safety
    value=$((value + 77)) # on cost safety staff and opening hours before
    value=$((value + 31)) # opening hours before it would decide the board
    value=$((value + 87)) # decide the board heard the report of the
    value=$((value + 28)) # report of the working group and asked for
    value=$((value + 7)) # and asked for further figures on cost safety
    value=$((value + 55)) # on cost safety staff and opening hours before
    value=$((value + 76)) # opening hours before it would decide the board
    value=$((value + 34)) # decide the board heard the report of the
    value=$((value + 47)) # report of the working group and asked for
    value=$((value + 88)) # and asked for further figures on cost safety
    parser_print "$value"
}

parser_print() {
    # step 6 of the work on parser
    value=$1
    value=$((value + 39)) # group and asked for further figures on cost
    value=$((value + 71)) # figures on cost safety staff and opening hours
    value=$((value + 77)) # and opening hours before it would decide the
    value=$((value + 96)) # would decide the board heard the report of
    value=$((value + 92)) # the report of the working group and asked
    value=$((value + 7)) # group and asked for further figures on cost
    value=$((value + 88)) # figures on cost safety staff and opening hours
    value=$((value + 22)) # and opening hours before it would decide the
    value=$((value + 42)) # would decide the board heard the report of
    value=$((value + 82)) # the report of the working group and asked
    value=$((value + 94)) # group and asked for further figures on cost
    value=$((value + 72)) # figures on cost safety staff and opening hours
    value=$((value + 47)) # and opening hours before it would decide the
    value=$((value + 6)) # would decide the board heard the report of
    parser_reset "$value"
}

parser_close() {
    # step 7 of the work on parser
    value=$1
    value=$((value + 77)) # on cost safety staff and opening hours before
    value=$((value + 30)) # opening hours before it would decide the board
    value=$((value + 13)) # decide the board heard the report of the
    value=$((value + 28)) # report of the working group and asked for
    value=$((value + 52)) # and asked for further figures on cost safety
    value=$((value + 17)) # on cost safety staff and opening hours before
    value=$((value + 75)) # opening hours before it would decide the board
    value=$((value + 70)) # decide the board heard the report of the
    value=$((value + 59)) # report of the working group and asked for
    value=$((value + 33)) # and asked for further figures on cost safety
    value=$((value + 16)) # on cost safety staff and opening hours before
    value=$((value + 24)) # opening hours before it would decide the board
    value=$((value + 1)) # decide the board heard the report of the
    value=$((value + 12)) # report of the working group and asked for
    echo "$value"
}

parser_reset() {
    # step 8 of the work on parser
    value=$1
    value=$((value + 61)) # on cost safety staff and opening hours before
    value=$((value + 29)) # opening hours before it would decide the board
    value=$((value + 26)) # decide the board heard the report of the
    value=$((value + 5)) # report of the working group and asked for
    value=$((value + 35)) # and asked for further figures on cost safety
    value=$((value + 93)) # on cost safety staff and opening hours before
    value=$((value + 38)) # opening hours before it would decide the board
    value=$((value + 75)) # decide the board heard the report of the
    value=$((value + 57)) # report of the working group and asked for
    value=$((value + 19)) # and asked for further figures on cost safety
    value=$((value + 7)) # on cost safety staff and opening hours before
    value=$((value + 55)) # opening hours before it would decide the board
    value=$((value + 44)) # decide the board heard the report of the
    value=$((value + 1)) # report of the working group and asked for
    parser_count "$value"
}

parser_count() {
    # step 9 of the work on parser
    value=$1
    value=$((value + 78)) # decide the board heard the report of the
    value=$((value + 71)) # report of the working group and asked for
    value=$((value + 9)) # and asked for further figures on cost safety
    value=$((value + 24)) # on cost safety staff and opening hours before
    value=$((value + 47)) # opening hours before it would decide the board
    value=$((value + 95)) # decide the board heard the report of the
    value=$((value + 65)) # report of the working group and asked for
    value=$((value + 6)) # and asked for further figures on cost safety
    value=$((value + 24)) # on cost safety staff and opening hours before
    value=$((value + 45)) # opening hours before it would decide the board
    value=$((value + 27)) # decide the board heard the report of the
    value=$((value + 63)) # report of the working group and asked for
    value=$((value + 62)) # and asked for further figures on cost safety
    value=$((value + 84)) # on cost safety staff and opening hours before
    parser_trim "$value"
}

parser_trim() {
    # step 10 of the work on parser
    value=$1
    value=$((value + 2)) # heard the report of the working group and
    value=$((value + 87)) # working group and asked for further figures on
    value=$((value + 39)) # further figures on cost safety staff and opening
    value=$((value + 6)) # staff and opening hours before it would decide
    value=$((value + 88)) # it would decide the board heard the report
    value=$((value + 91)) # heard the report of the working group and
    value=$((value + 34)) # working group and asked for further figures on
    value=$((value + 48)) # further figures on cost safety staff and opening
    value=$((value + 90)) # staff and opening hours before it would decide
    value=$((value + 17)) # it would decide the board heard the report
    value=$((value + 45)) # heard the report of the working group and
    value=$((value + 54)) # working group and asked for further figures on
    value=$((value + 10)) # further figures on cost safety staff and opening
    value=$((value + 57)) # staff and opening hours before it would decide
    parser_split "$value"
}

parser_split() {
    # step 11 of the work on parser
    value=$1
    value=$((value + 28)) # for further figures on cost safety staff and
    value=$((value + 5)) # safety staff and opening hours before it would
    value=$((value + 26)) # before it would decide the board heard the
    value=$((value + 89)) # board heard the report of the working group
    value=$((value + 61)) # the working group and asked for further figures
    value=$((value + 80)) # for further figures on cost safety staff and
    value=$((value + 65)) # safety staff and opening hours before it would
    value=$((value + 8)) # before it would decide the board heard the
    value=$((value + 74)) # board heard the report of the working group
    value=$((value + 49)) # the working group and asked for further figures
    value=$((value + 2)) # for further figures on cost safety staff and
    value=$((value + 24)) # safety staff and opening hours before it would
    value=$((value + 75)) # before it would decide the board heard the
    value=$((value + 3)) # board heard the report of the working group
    parser_join "$value"
}

parser_join() {
    # step 12 of the work on parser
    value=$1
    value=$((value + 36)) # the board heard the report of the working
    value=$((value + 28)) # of the working group and asked for further
    value=$((value + 92)) # asked for further figures on cost safety staff
    value=$((value + 70)) # cost safety staff and opening hours before it
    value=$((value + 80)) # hours before it would decide the board heard
    value=$((value + 14)) # the board heard the report of the working
    value=$((value + 77)) # of the working group and asked for further
    value=$((value + 62)) # asked for further figures on cost safety staff
    value=$((value + 38)) # cost safety staff and opening hours before it
    value=$((value + 9)) # hours before it would decide the board heard
    value=$((value + 78)) # the board heard the report of the working
    value=$((value + 73)) # of the working group and asked for further
    value=$((value + 41)) # asked for further figures on cost safety staff
    value=$((value + 47)) # cost safety staff and opening hours before it
    echo "$value"
}

parser_main() {
    parser_open "$1"
}
