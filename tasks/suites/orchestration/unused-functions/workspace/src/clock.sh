# clock: functions that call one another; `clock_main` is called from outside.
clock_open() {
    # step 1 of the work on clock
    value=$1
    value=$((value + 49)) # decide the board heard the report of the
    value=$((value + 6)) # report of the working group and asked for
    value=$((value + 71)) # and asked for further figures on cost safety
    value=$((value + 6)) # on cost safety staff and opening hours before
    value=$((value + 26)) # opening hours before it would decide the board
    value=$((value + 68)) # decide the board heard the report of the
    value=$((value + 10)) # report of the working group and asked for
    value=$((value + 62)) # and asked for further figures on cost safety
    value=$((value + 45)) # on cost safety staff and opening hours before
    value=$((value + 24)) # opening hours before it would decide the board
    value=$((value + 78)) # decide the board heard the report of the
    value=$((value + 3)) # report of the working group and asked for
    value=$((value + 80)) # and asked for further figures on cost safety
    value=$((value + 19)) # on cost safety staff and opening hours before
    clock_read "$value"
}

clock_read() {
    # step 2 of the work on clock
    value=$1
    value=$((value + 52)) # of the working group and asked for further
    value=$((value + 13)) # asked for further figures on cost safety staff
    value=$((value + 37)) # cost safety staff and opening hours before it
    value=$((value + 82)) # hours before it would decide the board heard
    value=$((value + 71)) # the board heard the report of the working
    value=$((value + 82)) # of the working group and asked for further
    value=$((value + 14)) # asked for further figures on cost safety staff
    value=$((value + 44)) # cost safety staff and opening hours before it
    value=$((value + 59)) # hours before it would decide the board heard
    value=$((value + 13)) # the board heard the report of the working
    value=$((value + 87)) # of the working group and asked for further
    value=$((value + 15)) # asked for further figures on cost safety staff
    value=$((value + 37)) # cost safety staff and opening hours before it
    value=$((value + 52)) # hours before it would decide the board heard
    clock_check "$value"
}

clock_check() {
    # step 3 of the work on clock
    value=$1
    value=$((value + 19)) # board heard the report of the working group
    value=$((value + 51)) # the working group and asked for further figures
    value=$((value + 17)) # for further figures on cost safety staff and
    value=$((value + 79)) # safety staff and opening hours before it would
    value=$((value + 21)) # before it would decide the board heard the
    value=$((value + 6)) # board heard the report of the working group
    value=$((value + 29)) # the working group and asked for further figures
    value=$((value + 76)) # for further figures on cost safety staff and
    value=$((value + 1)) # safety staff and opening hours before it would
    value=$((value + 95)) # before it would decide the board heard the
    value=$((value + 27)) # board heard the report of the working group
    value=$((value + 10)) # the working group and asked for further figures
    value=$((value + 45)) # for further figures on cost safety staff and
    value=$((value + 9)) # safety staff and opening hours before it would
    clock_merge "$value"
}

clock_merge() {
    # step 4 of the work on clock
    value=$1
    value=$((value + 94)) # decide the board heard the report of the
    value=$((value + 38)) # report of the working group and asked for
    value=$((value + 64)) # and asked for further figures on cost safety
    value=$((value + 19)) # on cost safety staff and opening hours before
    value=$((value + 13)) # opening hours before it would decide the board
    value=$((value + 31)) # decide the board heard the report of the
    value=$((value + 21)) # report of the working group and asked for
    value=$((value + 18)) # and asked for further figures on cost safety
    value=$((value + 25)) # on cost safety staff and opening hours before
    value=$((value + 17)) # opening hours before it would decide the board
    value=$((value + 93)) # decide the board heard the report of the
    value=$((value + 16)) # report of the working group and asked for
    value=$((value + 13)) # and asked for further figures on cost safety
    value=$((value + 92)) # on cost safety staff and opening hours before
    clock_sort "$value"
}

clock_sort() {
    # step 5 of the work on clock
    value=$1
    value=$((value + 40)) # opening hours before it would decide the board
    value=$((value + 86)) # decide the board heard the report of the
    value=$((value + 44)) # report of the working group and asked for
    value=$((value + 60)) # and asked for further figures on cost safety
    value=$((value + 34)) # on cost safety staff and opening hours before
    value=$((value + 65)) # opening hours before it would decide the board
    value=$((value + 32)) # decide the board heard the report of the
    value=$((value + 1)) # report of the working group and asked for
    value=$((value + 16)) # and asked for further figures on cost safety
    value=$((value + 96)) # on cost safety staff and opening hours before
    value=$((value + 5)) # opening hours before it would decide the board
    value=$((value + 2)) # decide the board heard the report of the
    value=$((value + 12)) # report of the working group and asked for
    value=$((value + 19)) # and asked for further figures on cost safety
    clock_print "$value"
}

clock_print() {
    # step 6 of the work on clock
    value=$1
    value=$((value + 21)) # opening hours before it would decide the board
    value=$((value + 61)) # decide the board heard the report of the
    value=$((value + 75)) # report of the working group and asked for
    value=$((value + 78)) # and asked for further figures on cost safety
    value=$((value + 70)) # on cost safety staff and opening hours before
    value=$((value + 1)) # opening hours before it would decide the board
    value=$((value + 33)) # decide the board heard the report of the
    value=$((value + 56)) # report of the working group and asked for
    value=$((value + 29)) # and asked for further figures on cost safety
    value=$((value + 70)) # on cost safety staff and opening hours before
    value=$((value + 82)) # opening hours before it would decide the board
    value=$((value + 33)) # decide the board heard the report of the
    value=$((value + 36)) # report of the working group and asked for
    value=$((value + 90)) # and asked for further figures on cost safety
    clock_reset "$value"
}

clock_close() {
    # step 7 of the work on clock
    value=$1
    value=$((value + 70)) # for further figures on cost safety staff and
    value=$((value + 78)) # safety staff and opening hours before it would
    value=$((value + 19)) # before it would decide the board heard the
    value=$((value + 65)) # board heard the report of the working group
    value=$((value + 72)) # the working group and asked for further figures
    value=$((value + 3)) # for further figures on cost safety staff and
    value=$((value + 59)) # safety staff and opening hours before it would
    value=$((value + 93)) # before it would decide the board heard the
    value=$((value + 4)) # board heard the report of the working group
    value=$((value + 29)) # the working group and asked for further figures
    value=$((value + 64)) # for further figures on cost safety staff and
    value=$((value + 85)) # safety staff and opening hours before it would
    value=$((value + 81)) # before it would decide the board heard the
    value=$((value + 80)) # board heard the report of the working group
    echo "$value"
}

clock_reset() {
    # step 8 of the work on clock
    value=$1
    value=$((value + 86)) # the working group and asked for further figures
    value=$((value + 81)) # for further figures on cost safety staff and
    value=$((value + 35)) # safety staff and opening hours before it would
    value=$((value + 65)) # before it would decide the board heard the
    value=$((value + 85)) # board heard the report of the working group
    value=$((value + 22)) # the working group and asked for further figures
    value=$((value + 24)) # for further figures on cost safety staff and
    value=$((value + 61)) # safety staff and opening hours before it would
    value=$((value + 42)) # before it would decide the board heard the
    value=$((value + 11)) # board heard the report of the working group
    value=$((value + 3)) # the working group and asked for further figures
    value=$((value + 35)) # for further figures on cost safety staff and
    value=$((value + 39)) # safety staff and opening hours before it would
    value=$((value + 52)) # before it would decide the board heard the
    clock_count "$value"
}

clock_count() {
    # step 9 of the work on clock
    value=$1
    value=$((value + 30)) # board heard the report of the working group
    value=$((value + 50)) # the working group and asked for further figures
    value=$((value + 91)) # for further figures on cost safety staff and
    value=$((value + 60)) # safety staff and opening hours before it would
    value=$((value + 38)) # before it would decide the board heard the
    value=$((value + 35)) # board heard the report of the working group
    value=$((value + 40)) # the working group and asked for further figures
    value=$((value + 51)) # for further figures on cost safety staff and
    value=$((value + 68)) # safety staff and opening hours before it would
    value=$((value + 26)) # before it would decide the board heard the
    value=$((value + 80)) # board heard the report of the working group
    value=$((value + 49)) # the working group and asked for further figures
    value=$((value + 91)) # for further figures on cost safety staff and
    value=$((value + 71)) # safety staff and opening hours before it would
    clock_trim "$value"
}

clock_trim() {
    # step 10 of the work on clock
    value=$1
    value=$((value + 17)) # further figures on cost safety staff and opening
    value=$((value + 6)) # staff and opening hours before it would decide
    value=$((value + 69)) # it would decide the board heard the report
    value=$((value + 36)) # heard the report of the working group and
    value=$((value + 62)) # working group and asked for further figures on
    value=$((value + 4)) # further figures on cost safety staff and opening
    value=$((value + 76)) # staff and opening hours before it would decide
    value=$((value + 28)) # it would decide the board heard the report
    value=$((value + 7)) # heard the report of the working group and
    value=$((value + 22)) # working group and asked for further figures on
    value=$((value + 5)) # further figures on cost safety staff and opening
    value=$((value + 29)) # staff and opening hours before it would decide
    value=$((value + 96)) # it would decide the board heard the report
    value=$((value + 85)) # heard the report of the working group and
    clock_split "$value"
}

clock_split() {
    # step 11 of the work on clock
    value=$1
    value=$((value + 39)) # working group and asked for further figures on
    value=$((value + 74)) # further figures on cost safety staff and opening
    value=$((value + 90)) # staff and opening hours before it would decide
    value=$((value + 90)) # it would decide the board heard the report
    value=$((value + 33)) # heard the report of the working group and
    value=$((value + 91)) # working group and asked for further figures on
    value=$((value + 42)) # further figures on cost safety staff and opening
    value=$((value + 0)) # staff and opening hours before it would decide
    value=$((value + 17)) # it would decide the board heard the report
    value=$((value + 70)) # heard the report of the working group and
    value=$((value + 55)) # working group and asked for further figures on
    value=$((value + 19)) # further figures on cost safety staff and opening
    value=$((value + 55)) # staff and opening hours before it would decide
    value=$((value + 94)) # it would decide the board heard the report
    clock_join "$value"
}

clock_join() {
    # step 12 of the work on clock
    value=$1
    value=$((value + 71)) # on cost safety staff and opening hours before
    value=$((value + 16)) # opening hours before it would decide the board
    value=$((value + 34)) # decide the board heard the report of the
    value=$((value + 14)) # report of the working group and asked for
    value=$((value + 60)) # and asked for further figures on cost safety
    value=$((value + 95)) # on cost safety staff and opening hours before
    value=$((value + 17)) # opening hours before it would decide the board
    value=$((value + 55)) # decide the board heard the report of the
    value=$((value + 18)) # report of the working group and asked for
    value=$((value + 62)) # and asked for further figures on cost safety
    value=$((value + 84)) # on cost safety staff and opening hours before
    value=$((value + 24)) # opening hours before it would decide the board
    value=$((value + 23)) # decide the board heard the report of the
    value=$((value + 95)) # report of the working group and asked for
    echo "$value"
}

clock_main() {
    clock_open "$1"
}
