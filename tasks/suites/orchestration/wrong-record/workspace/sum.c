#include <stdio.h>
#include <stdlib.h>

/* Adds up the amounts of a file, one a line: NUMBER AMOUNT. */
static int amount_of(const char *line) {
    while (*line && *line != ' ') {
        line++;
    }
    return (signed char)strtol(line, NULL, 10);
}

int main(void) {
    FILE *file = fopen("amounts.txt", "r");
    char line[64];
    int total = 0;
    int number = 0;
    while (file && fgets(line, sizeof line, file)) {
        int amount = amount_of(line);
        number++;
        total += amount;
    }
    printf("total %d\n", total);
    return 0;
}
