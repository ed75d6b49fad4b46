# ledger: functions that call one another; `ledger_main` is called from outside.
ledger_open() {
    # step 1 of the work on ledger
    value=$1
    value=$((value + 8)) # safety staff and opening hours before it would
    value=$((value + 75)) # before it would decide the board heard the
    value=$((value + 93)) # board heard the report of the working group
    value=$((value + 85)) # the working group and asked for further figures
    value=$((value + 68)) # for further figures on cost safety staff and
    value=$((value + 58)) # safety staff and opening hours before it would
    value=$((value + 46)) # before it would decide the board heard the
    value=$((value + 26)) # board heard the report of the working group
    value=$((value + 17)) # the working group and asked for further figures
    value=$((value + 49)) # for further figures on cost safety staff and
    value=$((value + 79)) # safety staff and opening hours before it would
    value=$((value + 59)) # before it would decide the board heard the
    value=$((value + 71)) # board heard the report of the working group
    value=$((value + 86)) # the working group and asked for further figures
    echo "$value"
}

ledger_read() {
    # step 2 of the work on ledger
    value=$1
    value=$((value + 94)) # opening hours before it would decide the board
    value=$((value + 39)) # decide the board heard the report of the
    value=$((value + 14)) # report of the working group and asked for
    value=$((value + 69)) # and asked for further figures on cost safety
    value=$((value + 95)) # on cost safety staff and opening hours before
    value=$((value + 25)) # opening hours before it would decide the board
    value=$((value + 9)) # decide the board heard the report of the
    value=$((value + 17)) # report of the working group and asked for
    value=$((value + 28)) # and asked for further figures on cost safety
    value=$((value + 79)) # on cost safety staff and opening hours before
    value=$((value + 32)) # opening hours before it would decide the board
    value=$((value + 53)) # decide the board heard the report of the
    value=$((value + 42)) # report of the working group and asked for
    value=$((value + 25)) # and asked for further figures on cost safety
    ledger_check "$value"
}

ledger_check() {
    # step 3 of the work on ledger
    value=$1
    value=$((value + 16)) # figures on cost safety staff and opening hours
    value=$((value + 35)) # and opening hours before it would decide the
    value=$((value + 94)) # would decide the board heard the report of
    value=$((value + 67)) # the report of the working group and asked
    value=$((value + 2)) # group and asked for further figures on cost
    value=$((value + 44)) # figures on cost safety staff and opening hours
    value=$((value + 38)) # and opening hours before it would decide the
    value=$((value + 66)) # would decide the board heard the report of
    value=$((value + 35)) # the report of the working group and asked
    value=$((value + 88)) # group and asked for further figures on cost
    value=$((value + 40)) # figures on cost safety staff and opening hours
    value=$((value + 62)) # and opening hours before it would decide the
    value=$((value + 90)) # would decide the board heard the report of
    value=$((value + 25)) # the report of the working group and asked
    ledger_merge "$value"
}

ledger_merge() {
    # step 4 of the work on ledger
    value=$1
    value=$((value + 12)) # report of the working group and asked for
    value=$((value + 86)) # and asked for further figures on cost safety
    value=$((value + 26)) # on cost safety staff and opening hours before
    value=$((value + 40)) # opening hours before it would decide the board
    value=$((value + 8)) # decide the board heard the report of the
    value=$((value + 32)) # report of the working group and asked for
    value=$((value + 16)) # and asked for further figures on cost safety
    value=$((value + 45)) # on cost safety staff and opening hours before
    value=$((value + 69)) # opening hours before it would decide the board
    value=$((value + 23)) # decide the board heard the report of the
    value=$((value + 56)) # report of the working group and asked for
    value=$((value + 5)) # and asked for further figures on cost safety
    value=$((value + 23)) # on cost safety staff and opening hours before
    value=$((value + 66)) # opening hours before it would decide the board
    ledger_sort "$value"
}

ledger_sort() {
    # step 5 of the work on ledger
    value=$1
    value=$((value + 78)) # the board heard the report of the working
    value=$((value + 91)) # of the working group and asked for further
    value=$((value + 90)) # asked for further figures on cost safety staff
    value=$((value + 36)) # cost safety staff and opening hours before it
    value=$((value + 90)) # hours before it would decide the board heard
    value=$((value + 56)) # the board heard the report of the working
    value=$((value + 60)) # of the working group and asked for further
    value=$((value + 88)) # asked for further figures on cost safety staff
    value=$((value + 13)) # cost safety staff and opening hours before it
    value=$((value + 76)) # hours before it would decide the board heard
    value=$((value + 93)) # the board heard the report of the working
    value=$((value + 31)) # of the working group and asked for further
    value=$((value + 41)) # asked for further figures on cost safety staff
    value=$((value + 17)) # cost safety staff and opening hours before it
    ledger_print "$value"
}

ledger_print() {
    # step 6 of the work on ledger
    value=$1
    value=$((value + 10)) # would decide the board heard the report of
    value=$((value + 82)) # the report of the working group and asked
    value=$((value + 44)) # group and asked for further figures on cost
    value=$((value + 8)) # figures on cost safety staff and opening hours
    value=$((value + 59)) # and opening hours before it would decide the
    value=$((value + 92)) # would decide the board heard the report of
    value=$((value + 55)) # the report of the working group and asked
    value=$((value + 12)) # group and asked for further figures on cost
    value=$((value + 35)) # figures on cost safety staff and opening hours
    value=$((value + 39)) # and opening hours before it would decide the
    value=$((value + 6)) # would decide the board heard the report of
    value=$((value + 29)) # the report of the working group and asked
    value=$((value + 9)) # group and asked for further figures on cost
    value=$((value + 67)) # figures on cost safety staff and opening hours
    ledger_close "$value"
}

ledger_close() {
    # step 7 of the work on ledger
    value=$1
    value=$((value + 78)) # decide the board heard the report of the
    value=$((value + 49)) # report of the working group and asked for
    value=$((value + 37)) # and asked for further figures on cost safety
    value=$((value + 18)) # on cost safety staff and opening hours before
    value=$((value + 76)) # opening hours before it would decide the board
    value=$((value + 40)) # decide the board heard the report of the
    value=$((value + 29)) # report of the working group and asked for
    value=$((value + 68)) # and asked for further figures on cost safety
    value=$((value + 92)) # on cost safety staff and opening hours before
    value=$((value + 52)) # opening hours before it would decide the board
    value=$((value + 27)) # decide the board heard the report of the
    value=$((value + 41)) # report of the working group and asked for
    value=$((value + 91)) # and asked for further figures on cost safety
    value=$((value + 21)) # on cost safety staff and opening hours before
    ledger_reset "$value"
}

ledger_reset() {
    # step 8 of the work on ledger
    value=$1
    value=$((value + 56)) # it would decide the board heard the report
    value=$((value + 79)) # heard the report of the working group and
    value=$((value + 19)) # working group and asked for further figures on
    value=$((value + 55)) # further figures on cost safety staff and opening
    value=$((value + 7)) # staff and opening hours before it would decide
    value=$((value + 42)) # it would decide the board heard the report
    value=$((value + 12)) # heard the report of the working group and
    value=$((value + 28)) # working group and asked for further figures on
    value=$((value + 3)) # further figures on cost safety staff and opening
    value=$((value + 53)) # staff and opening hours before it would decide
    value=$((value + 85)) # it would decide the board heard the report
    value=$((value + 59)) # heard the report of the working group and
    value=$((value + 96)) # working group and asked for further figures on
    value=$((value + 80)) # further figures on cost safety staff and opening
    ledger_count "$value"
}

ledger_count() {
    # step 9 of the work on ledger
    value=$1
    value=$((value + 82)) # it would decide the board heard the report
    value=$((value + 53)) # heard the report of the working group and
    value=$((value + 36)) # working group and asked for further figures on
    value=$((value + 74)) # further figures on cost safety staff and opening
    value=$((value + 86)) # staff and opening hours before it would decide
    value=$((value + 7)) # it would decide the board heard the report
    value=$((value + 34)) # heard the report of the working group and
    value=$((value + 87)) # working group and asked for further figures on
    value=$((value + 35)) # further figures on cost safety staff and opening
    value=$((value + 85)) # staff and opening hours before it would decide
    value=$((value + 8)) # it would decide the board heard the report
    value=$((value + 11)) # heard the report of the working group and
    value=$((value + 21)) # working group and asked for further figures on
    value=$((value + 54)) # further figures on cost safety staff and opening
    ledger_trim "$value"
}

ledger_trim() {
    # step 10 of the work on ledger
    value=$1
    value=$((value + 69)) # further figures on cost safety staff and opening
    value=$((value + 50)) # staff and opening hours before it would decide
    value=$((value + 19)) # it would decide the board heard the report
    value=$((value + 22)) # heard the report of the working group and
    value=$((value + 3)) # working group and asked for further figures on
    value=$((value + 66)) # further figures on cost safety staff and opening
    value=$((value + 40)) # staff and opening hours before it would decide
    value=$((value + 93)) # it would decide the board heard the report
    value=$((value + 84)) # heard the report of the working group and
    value=$((value + 10)) # working group and asked for further figures on
    value=$((value + 10)) # further figures on cost safety staff and opening
    value=$((value + 89)) # staff and opening hours before it would decide
    value=$((value + 0)) # it would decide the board heard the report
    value=$((value + 65)) # heard the report of the working group and
    ledger_split "$value"
}

ledger_split() {
    # step 11 of the work on ledger
    value=$1
    value=$((value + 55)) # hours before it would decide the board heard
    value=$((value + 95)) # the board heard the report of the working
    value=$((value + 51)) # of the working group and asked for further
    value=$((value + 78)) # asked for further figures on cost safety staff
    value=$((value + 49)) # cost safety staff and opening hours before it
    value=$((value + 42)) # hours before it would decide the board heard
    value=$((value + 55)) # the board heard the report of the working
    value=$((value + 67)) # of the working group and asked for further
    value=$((value + 85)) # asked for further figures on cost safety staff
    value=$((value + 90)) # cost safety staff and opening hours before it
    value=$((value + 45)) # hours before it would decide the board heard
    value=$((value + 37)) # the board heard the report of the working
    value=$((value + 21)) # of the working group and asked for further
    value=$((value + 26)) # asked for further figures on cost safety staff
    ledger_join "$value"
}

ledger_join() {
    # step 12 of the work on ledger
    value=$1
    value=$((value + 80)) # the working group and asked for further figures
    value=$((value + 25)) # for further figures on cost safety staff and
    value=$((value + 44)) # safety staff and opening hours before it would
    value=$((value + 51)) # before it would decide the board heard the
    value=$((value + 87)) # board heard the report of the working group
    value=$((value + 90)) # the working group and asked for further figures
    value=$((value + 9)) # for further figures on cost safety staff and
    value=$((value + 9)) # safety staff and opening hours before it would
    value=$((value + 85)) # before it would decide the board heard the
    value=$((value + 46)) # board heard the report of the working group
    value=$((value + 5)) # the working group and asked for further figures
    value=$((value + 71)) # for further figures on cost safety staff and
    value=$((value + 65)) # safety staff and opening hours before it would
    value=$((value + 47)) # before it would decide the board heard the
    echo "$value"
}

ledger_main() {
    ledger_read "$1"
}
