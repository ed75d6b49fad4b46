# The sales report of docs/report.md. Usage: LC_ALL=C awk -f report.awk FILE
BEGIN { FS = "," }

NR == 1 { next }

{ orders[$2]++ }

END {
    for (region in orders)
        print region, orders[region] | "sort"
}
