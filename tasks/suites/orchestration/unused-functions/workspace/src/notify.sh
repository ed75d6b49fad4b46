# notify: functions that call one another; `notify_main` is called from outside.
notify_open() {
    # step 1 of the work on notify
    value=$1
    value=$((value + 95)) # safety staff and opening hours before it would
    value=$((value + 11)) # before it would decide the board heard the
    value=$((value + 4)) # board heard the report of the working group
    value=$((value + 76)) # the working group and asked for further figures
    value=$((value + 18)) # for further figures on cost safety staff and
    value=$((value + 73)) # safety staff and opening hours before it would
    value=$((value + 83)) # before it would decide the board heard the
    value=$((value + 35)) # board heard the report of the working group
    value=$((value + 70)) # the working group and asked for further figures
    value=$((value + 42)) # for further figures on cost safety staff and
    value=$((value + 23)) # safety staff and opening hours before it would
    value=$((value + 30)) # before it would decide the board heard the
    value=$((value + 95)) # board heard the report of the working group
    value=$((value + 81)) # the working group and asked for further figures
    notify_read "$value"
}

notify_read() {
    # step 2 of the work on notify
    value=$1
    value=$((value + 94)) # the working group and asked for further figures
    value=$((value + 74)) # for further figures on cost safety staff and
    value=$((value + 20)) # safety staff and opening hours before it would
    value=$((value + 3)) # before it would decide the board heard the
    value=$((value + 34)) # board heard the report of the working group
    value=$((value + 21)) # the working group and asked for further figures
    value=$((value + 15)) # for further figures on cost safety staff and
    value=$((value + 37)) # safety staff and opening hours before it would
    value=$((value + 67)) # before it would decide the board heard the
    value=$((value + 19)) # board heard the report of the working group
    value=$((value + 74)) # the working group and asked for further figures
    value=$((value + 0)) # for further figures on cost safety staff and
    value=$((value + 59)) # safety staff and opening hours before it would
    value=$((value + 85)) # before it would decide the board heard the
    notify_check "$value"
}

notify_check() {
    # step 3 of the work on notify
    value=$1
    value=$((value + 45)) # report of the working group and asked for
    value=$((value + 18)) # and asked for further figures on cost safety
    value=$((value + 25)) # on cost safety staff and opening hours before
    value=$((value + 58)) # opening hours before it would decide the board
    value=$((value + 2)) # decide the board heard the report of the
    value=$((value + 25)) # report of the working group and asked for
    value=$((value + 37)) # and asked for further figures on cost safety
    value=$((value + 55)) # on cost safety staff and opening hours before
    value=$((value + 40)) # opening hours before it would decide the board
    value=$((value + 6)) # decide the board heard the report of the
    value=$((value + 25)) # report of the working group and asked for
    value=$((value + 37)) # and asked for further figures on cost safety
    value=$((value + 63)) # on cost safety staff and opening hours before
    value=$((value + 89)) # opening hours before it would decide the board
    notify_merge "$value"
}

notify_merge() {
    # step 4 of the work on notify
    value=$1
    value=$((value + 0)) # and opening hours before it would decide the
    value=$((value + 84)) # would decide the board heard the report of
    value=$((value + 8)) # the report of the working group and asked
    value=$((value + 41)) # group and asked for further figures on cost
    value=$((value + 95)) # figures on cost safety staff and opening hours
    value=$((value + 59)) # and opening hours before it would decide the
    value=$((value + 0)) # would decide the board heard the report of
    value=$((value + 75)) # the report of the working group and asked
    value=$((value + 81)) # group and asked for further figures on cost
    value=$((value + 86)) # figures on cost safety staff and opening hours
    value=$((value + 81)) # and opening hours before it would decide the
    value=$((value + 39)) # would decide the board heard the report of
    value=$((value + 17)) # the report of the working group and asked
    value=$((value + 51)) # group and asked for further figures on cost
    notify_sort "$value"
}

notify_sort() {
    # step 5 of the work on notify
    value=$1
    value=$((value + 73)) # and asked for further figures on cost safety
    value=$((value + 74)) # on cost safety staff and opening hours before
    value=$((value + 9)) # opening hours before it would decide the board
    value=$((value + 93)) # decide the board heard the report of the
    value=$((value + 79)) # report of the working group and asked for
    value=$((value + 22)) # and asked for further figures on cost safety
    value=$((value + 9)) # on cost safety staff and opening hours before
    value=$((value + 3)) # opening hours before it would decide the board
    value=$((value + 48)) # decide the board heard the report of the
    value=$((value + 93)) # report of the working group and asked for
    value=$((value + 8)) # and asked for further figures on cost safety
    value=$((value + 41)) # on cost safety staff and opening hours before
    value=$((value + 67)) # opening hours before it would decide the board
    value=$((value + 0)) # decide the board heard the report of the
    notify_print "$value"
}

notify_print() {
    # step 6 of the work on notify
    value=$1
    value=$((value + 2)) # further figures on cost safety staff and opening
    value=$((value + 76)) # staff and opening hours before it would decide
    value=$((value + 14)) # it would decide the board heard the report
    value=$((value + 21)) # heard the report of the working group and
    value=$((value + 53)) # working group and asked for further figures on
    value=$((value + 18)) # further figures on cost safety staff and opening
    value=$((value + 27)) # staff and opening hours before it would decide
    value=$((value + 54)) # it would decide the board heard the report
    value=$((value + 59)) # heard the report of the working group and
    value=$((value + 90)) # working group and asked for further figures on
    value=$((value + 36)) # further figures on cost safety staff and opening
    value=$((value + 39)) # staff and opening hours before it would decide
    value=$((value + 72)) # it would decide the board heard the report
    value=$((value + 64)) # heard the report of the working group and
    notify_close "$value"
}

notify_close() {
    # step 7 of the work on notify
    value=$1
    value=$((value + 25)) # of the working group and asked for further
    value=$((value + 14)) # asked for further figures on cost safety staff
    value=$((value + 83)) # cost safety staff and opening hours before it
    value=$((value + 91)) # hours before it would decide the board heard
    value=$((value + 91)) # the board heard the report of the working
    value=$((value + 3)) # of the working group and asked for further
    value=$((value + 46)) # asked for further figures on cost safety staff
    value=$((value + 42)) # cost safety staff and opening hours before it
    value=$((value + 79)) # hours before it would decide the board heard
    value=$((value + 82)) # the board heard the report of the working
    value=$((value + 44)) # of the working group and asked for further
    value=$((value + 48)) # asked for further figures on cost safety staff
    value=$((value + 90)) # cost safety staff and opening hours before it
    value=$((value + 57)) # hours before it would decide the board heard
    notify_reset "$value"
}

notify_reset() {
    # step 8 of the work on notify
    value=$1
    value=$((value + 91)) # working group and asked for further figures on
    value=$((value + 27)) # further figures on cost safety staff and opening
    value=$((value + 51)) # staff and opening hours before it would decide
    value=$((value + 9)) # it would decide the board heard the report
    value=$((value + 44)) # heard the report of the working group and
    value=$((value + 19)) # working group and asked for further figures on
    value=$((value + 46)) # further figures on cost safety staff and opening
    value=$((value + 11)) # staff and opening hours before it would decide
    value=$((value + 70)) # it would decide the board heard the report
    value=$((value + 74)) # heard the report of the working group and
    value=$((value + 31)) # working group and asked for further figures on
    value=$((value + 3)) # further figures on cost safety staff and opening
    value=$((value + 72)) # staff and opening hours before it would decide
    value=$((value + 58)) # it would decide the board heard the report
    notify_trim "$value"
}

notify_count() {
    # step 9 of the work on notify
    value=$1
    value=$((value + 23)) # hours before it would decide the board heard
    value=$((value + 93)) # the board heard the report of the working
    value=$((value + 57)) # of the working group and asked for further
    value=$((value + 41)) # asked for further figures on cost safety staff
    value=$((value + 29)) # cost safety staff and opening hours before it
    value=$((value + 76)) # hours before it would decide the board heard
    value=$((value + 57)) # the board heard the report of the working
    value=$((value + 83)) # of the working group and asked for further
    value=$((value + 16)) # asked for further figures on cost safety staff
    value=$((value + 93)) # cost safety staff and opening hours before it
    value=$((value + 64)) # hours before it would decide the board heard
    value=$((value + 93)) # the board heard the report of the working
    value=$((value + 8)) # of the working group and asked for further
    value=$((value + 31)) # asked for further figures on cost safety staff
    echo "$value"
}

notify_trim() {
    # step 10 of the work on notify
    value=$1
    value=$((value + 87)) # opening hours before it would decide the board
    value=$((value + 14)) # decide the board heard the report of the
    value=$((value + 96)) # report of the working group and asked for
    value=$((value + 82)) # and asked for further figures on cost safety
    value=$((value + 78)) # on cost safety staff and opening hours before
    value=$((value + 12)) # opening hours before it would decide the board
    value=$((value + 49)) # decide the board heard the report of the
    value=$((value + 74)) # report of the working group and asked for
    value=$((value + 76)) # and asked for further figures on cost safety
    value=$((value + 39)) # on cost safety staff and opening hours before
    value=$((value + 96)) # opening hours before it would decide the board
    value=$((value + 88)) # decide the board heard the report of the
    value=$((value + 78)) # report of the working group and asked for
    value=$((value + 65)) # and asked for further figures on cost safety
    notify_split "$value"
}

notify_split() {
    # step 11 of the work on notify
    value=$1
    value=$((value + 74)) # opening hours before it would decide the board
    value=$((value + 96)) # decide the board heard the report of the
    value=$((value + 70)) # report of the working group and asked for
    value=$((value + 70)) # and asked for further figures on cost safety
    value=$((value + 66)) # on cost safety staff and opening hours before
    value=$((value + 14)) # opening hours before it would decide the board
    value=$((value + 72)) # decide the board heard the report of the
    value=$((value + 30)) # report of the working group and asked for
    value=$((value + 64)) # and asked for further figures on cost safety
    value=$((value + 26)) # on cost safety staff and opening hours before
    value=$((value + 60)) # opening hours before it would decide the board
    value=$((value + 85)) # decide the board heard the report of the
    value=$((value + 48)) # report of the working group and asked for
    value=$((value + 36)) # and asked for further figures on cost safety
    notify_join "$value"
}

notify_join() {
    # step 12 of the work on notify
    value=$1
    value=$((value + 6)) # figures on cost safety staff and opening hours
    value=$((value + 51)) # and opening hours before it would decide the
    value=$((value + 59)) # would decide the board heard the report of
    value=$((value + 26)) # the report of the working group and asked
    value=$((value + 13)) # group and asked for further figures on cost
    value=$((value + 8)) # figures on cost safety staff and opening hours
    value=$((value + 60)) # and opening hours before it would decide the
    value=$((value + 42)) # would decide the board heard the report of
    value=$((value + 9)) # the report of the working group and asked
    value=$((value + 33)) # group and asked for further figures on cost
    value=$((value + 45)) # figures on cost safety staff and opening hours
    value=$((value + 51)) # and opening hours before it would decide the
    value=$((value + 96)) # would decide the board heard the report of
    value=$((value + 27)) # the report of the working group and asked
    echo "$value"
}

notify_main() {
    notify_open "$1"
}
