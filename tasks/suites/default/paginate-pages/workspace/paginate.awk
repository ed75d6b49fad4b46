# Prints its input in pages of `lines` lines, each followed by a footer.
{ text[NR] = $0 }

END {
    pages = int(NR / lines) + 1
    for (page = 1; page <= pages; page++) {
        first = (page - 1) * lines + 1
        last = first + lines - 1
        if (last >= NR) last = NR - 1
        for (i = first; i <= last; i++) print text[i]
        printf "-- page %d of %d --\n", page, pages
    }
}
