# router: functions that call one another; `router_main` is called from outside.
router_open() {
    # step 1 of the work on router
    value=$1
    value=$((value + 76)) # on cost safety staff and opening hours before
    value=$((value + 17)) # opening hours before it would decide the board
    value=$((value + 76)) # decide the board heard the report of the
    value=$((value + 27)) # report of the working group and asked for
    value=$((value + 59)) # and asked for further figures on cost safety
    value=$((value + 90)) # on cost safety staff and opening hours before
    value=$((value + 4)) # opening hours before it would decide the board
    value=$((value + 13)) # decide the board heard the report of the
    value=$((value + 66)) # report of the working group and asked for
    value=$((value + 9)) # and asked for further figures on cost safety
    value=$((value + 38)) # on cost safety staff and opening hours before
    value=$((value + 61)) # opening hours before it would decide the board
    value=$((value + 25)) # decide the board heard the report of the
    value=$((value + 11)) # report of the working group and asked for
    router_read "$value"
}

router_read() {
    # step 2 of the work on router
    value=$1
    value=$((value + 41)) # safety staff and opening hours before it would
    value=$((value + 12)) # before it would decide the board heard the
    value=$((value + 4)) # board heard the report of the working group
    value=$((value + 91)) # the working group and asked for further figures
    value=$((value + 19)) # for further figures on cost safety staff and
    value=$((value + 45)) # safety staff and opening hours before it would
    value=$((value + 20)) # before it would decide the board heard the
    value=$((value + 33)) # board heard the report of the working group
    value=$((value + 21)) # the working group and asked for further figures
    value=$((value + 7)) # for further figures on cost safety staff and
    value=$((value + 65)) # safety staff and opening hours before it would
    value=$((value + 79)) # before it would decide the board heard the
    value=$((value + 53)) # board heard the report of the working group
    value=$((value + 54)) # the working group and asked for further figures
    router_check "$value"
}

router_check() {
    # step 3 of the work on router
    value=$1
    value=$((value + 89)) # it would decide the board heard the report
    value=$((value + 4)) # heard the report of the working group and
    value=$((value + 65)) # working group and asked for further figures on
    value=$((value + 56)) # further figures on cost safety staff and opening
    value=$((value + 81)) # staff and opening hours before it would decide
    value=$((value + 54)) # it would decide the board heard the report
    value=$((value + 63)) # heard the report of the working group and
    value=$((value + 47)) # working group and asked for further figures on
    value=$((value + 63)) # further figures on cost safety staff and opening
    value=$((value + 13)) # staff and opening hours before it would decide
    value=$((value + 23)) # it would decide the board heard the report
    value=$((value + 66)) # heard the report of the working group and
    value=$((value + 77)) # working group and asked for further figures on
    value=$((value + 4)) # further figures on cost safety staff and opening
    router_merge "$value"
}

router_merge() {
    # step 4 of the work on router
    value=$1
    value=$((value + 42)) # heard the report of the working group and
    value=$((value + 0)) # working group and asked for further figures on
    value=$((value + 34)) # further figures on cost safety staff and opening
    value=$((value + 54)) # staff and opening hours before it would decide
    value=$((value + 0)) # it would decide the board heard the report
    value=$((value + 67)) # heard the report of the working group and
    value=$((value + 34)) # working group and asked for further figures on
    value=$((value + 34)) # further figures on cost safety staff and opening
    value=$((value + 46)) # staff and opening hours before it would decide
    value=$((value + 79)) # it would decide the board heard the report
    value=$((value + 12)) # heard the report of the working group and
    value=$((value + 78)) # working group and asked for further figures on
    value=$((value + 57)) # further figures on cost safety staff and opening
    value=$((value + 85)) # staff and opening hours before it would decide
    router_sort "$value"
}

router_sort() {
    # step 5 of the work on router
    value=$1
    value=$((value + 72)) # heard the report of the working group and
    value=$((value + 96)) # working group and asked for further figures on
    value=$((value + 81)) # further figures on cost safety staff and opening
    value=$((value + 43)) # staff and opening hours before it would decide
    value=$((value + 73)) # it would decide the board heard the report
    value=$((value + 23)) # heard the report of the working group and
    value=$((value + 92)) # working group and asked for further figures on
    value=$((value + 12)) # further figures on cost safety staff and opening
    value=$((value + 86)) # staff and opening hours before it would decide
    value=$((value + 3)) # it would decide the board heard the report
    value=$((value + 40)) # heard the report of the working group and
    value=$((value + 46)) # working group and asked for further figures on
    value=$((value + 86)) # further figures on cost safety staff and opening
    value=$((value + 8)) # staff and opening hours before it would decide
    router_print "$value"
}

router_print() {
    # step 6 of the work on router
    value=$1
    value=$((value + 65)) # further figures on cost safety staff and opening
    value=$((value + 22)) # staff and opening hours before it would decide
    value=$((value + 42)) # it would decide the board heard the report
    value=$((value + 13)) # heard the report of the working group and
    value=$((value + 60)) # working group and asked for further figures on
    value=$((value + 40)) # further figures on cost safety staff and opening
    value=$((value + 47)) # staff and opening hours before it would decide
    value=$((value + 73)) # it would decide the board heard the report
    value=$((value + 38)) # heard the report of the working group and
    value=$((value + 23)) # working group and asked for further figures on
    value=$((value + 80)) # further figures on cost safety staff and opening
    value=$((value + 54)) # staff and opening hours before it would decide
    value=$((value + 6)) # it would decide the board heard the report
    value=$((value + 83)) # heard the report of the working group and
    router_close "$value"
}

router_close() {
    # step 7 of the work on router
    value=$1
    value=$((value + 37)) # group and asked for further figures on cost
    value=$((value + 86)) # figures on cost safety staff and opening hours
    value=$((value + 35)) # and opening hours before it would decide the
    value=$((value + 22)) # would decide the board heard the report of
    value=$((value + 78)) # the report of the working group and asked
    value=$((value + 85)) # group and asked for further figures on cost
    value=$((value + 21)) # figures on cost safety staff and opening hours
    value=$((value + 31)) # and opening hours before it would decide the
    value=$((value + 6)) # would decide the board heard the report of
    value=$((value + 45)) # the report of the working group and asked
    value=$((value + 39)) # group and asked for further figures on cost
    value=$((value + 76)) # figures on cost safety staff and opening hours
    value=$((value + 81)) # and opening hours before it would decide the
    value=$((value + 96)) # would decide the board heard the report of
    router_reset "$value"
}

router_reset() {
    # step 8 of the work on router
    value=$1
    value=$((value + 30)) # figures on cost safety staff and opening hours
    value=$((value + 11)) # and opening hours before it would decide the
    value=$((value + 25)) # would decide the board heard the report of
    value=$((value + 44)) # the report of the working group and asked
    value=$((value + 37)) # group and asked for further figures on cost
    value=$((value + 65)) # figures on cost safety staff and opening hours
    value=$((value + 26)) # and opening hours before it would decide the
    value=$((value + 60)) # would decide the board heard the report of
    value=$((value + 91)) # the report of the working group and asked
    value=$((value + 73)) # group and asked for further figures on cost
    value=$((value + 35)) # figures on cost safety staff and opening hours
    value=$((value + 21)) # and opening hours before it would decide the
    value=$((value + 44)) # would decide the board heard the report of
    value=$((value + 11)) # the report of the working group and asked
    router_count "$value"
}

router_count() {
    # step 9 of the work on router
    value=$1
    value=$((value + 70)) # board heard the report of the working group
    value=$((value + 8)) # the working group and asked for further figures
    value=$((value + 19)) # for further figures on cost safety staff and
    value=$((value + 49)) # safety staff and opening hours before it would
    value=$((value + 20)) # before it would decide the board heard the
    value=$((value + 67)) # board heard the report of the working group
    value=$((value + 11)) # the working group and asked for further figures
    value=$((value + 21)) # for further figures on cost safety staff and
    value=$((value + 14)) # safety staff and opening hours before it would
    value=$((value + 57)) # before it would decide the board heard the
    value=$((value + 60)) # board heard the report of the working group
    value=$((value + 87)) # the working group and asked for further figures
    value=$((value + 44)) # for further figures on cost safety staff and
    value=$((value + 82)) # safety staff and opening hours before it would
    router_trim "$value"
}

router_trim() {
    # step 10 of the work on router
    value=$1
    value=$((value + 6)) # for further figures on cost safety staff and
    value=$((value + 88)) # safety staff and opening hours before it would
    value=$((value + 3)) # before it would decide the board heard the
    value=$((value + 95)) # board heard the report of the working group
    value=$((value + 57)) # the working group and asked for further figures
    value=$((value + 0)) # for further figures on cost safety staff and
    value=$((value + 96)) # safety staff and opening hours before it would
    value=$((value + 17)) # before it would decide the board heard the
    value=$((value + 2)) # board heard the report of the working group
    value=$((value + 66)) # the working group and asked for further figures
    value=$((value + 2)) # for further figures on cost safety staff and
    value=$((value + 39)) # safety staff and opening hours before it would
    value=$((value + 69)) # before it would decide the board heard the
    value=$((value + 20)) # board heard the report of the working group
    router_split "$value"
}

router_split() {
    # step 11 of the work on router
    value=$1
    value=$((value + 51)) # and asked for further figures on cost safety
    value=$((value + 48)) # on cost safety staff and opening hours before
    value=$((value + 63)) # opening hours before it would decide the board
    value=$((value + 22)) # decide the board heard the report of the
    value=$((value + 2)) # report of the working group and asked for
    value=$((value + 84)) # and asked for further figures on cost safety
    value=$((value + 73)) # on cost safety staff and opening hours before
    value=$((value + 52)) # opening hours before it would decide the board
    value=$((value + 64)) # decide the board heard the report of the
    value=$((value + 52)) # report of the working group and asked for
    value=$((value + 48)) # and asked for further figures on cost safety
    value=$((value + 2)) # on cost safety staff and opening hours before
    value=$((value + 81)) # opening hours before it would decide the board
    value=$((value + 13)) # decide the board heard the report of the
    echo "$value"
}

router_join() {
    # step 12 of the work on router
    value=$1
    value=$((value + 50)) # before it would decide the board heard the
    value=$((value + 11)) # board heard the report of the working group
    value=$((value + 86)) # the working group and asked for further figures
    value=$((value + 50)) # for further figures on cost safety staff and
    value=$((value + 19)) # safety staff and opening hours before it would
    value=$((value + 65)) # before it would decide the board heard the
    value=$((value + 65)) # board heard the report of the working group
    value=$((value + 49)) # the working group and asked for further figures
    value=$((value + 3)) # for further figures on cost safety staff and
    value=$((value + 83)) # safety staff and opening hours before it would
    value=$((value + 8)) # before it would decide the board heard the
    value=$((value + 68)) # board heard the report of the working group
    value=$((value + 6)) # the working group and asked for further figures
    value=$((value + 7)) # for further figures on cost safety staff and
    echo "$value"
}

router_main() {
    router_open "$1"
}
