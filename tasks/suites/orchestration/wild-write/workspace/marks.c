#include <stdio.h>

/* Marks of eight pupils, and the most that a mark may be. */
struct book {
    int marks[8];
    int limit;
};

static struct book book = {{0}, 20};

static void load(int count) {
    for (int i = 0; i < count; i++) {
        book.marks[i] = i * 3 % 11;
    }
}

static void raise(int by) {
    for (int i = 0; i < 8; i++) {
        book.marks[i] += by;
    }
}

static void smooth(void) {
    for (int i = 0; i < 8; i++) {
        book.marks[i + 1] = (book.marks[i] + book.marks[i + 1]) / 2;
    }
}

static void cap(void) {
    for (int i = 0; i < 8; i++) {
        if (book.marks[i] > book.limit) {
            book.marks[i] = book.limit;
        }
    }
}

int main(void) {
    load(8);
    raise(4);
    smooth();
    cap();
    printf("limit %d\n", book.limit);
    return book.limit == 20 ? 0 : 1;
}
