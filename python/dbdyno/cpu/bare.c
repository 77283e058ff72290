/* The reference: a bare loop over SQLite's C interface that does what a trial does and records nothing.
 *
 *   bare DATABASE SQL KEYS THREADS OPERATIONS CACHE_SIZE
 *
 * Each thread opens the database, prepares SQL (one parameter, a key drawn uniformly from 1 to KEYS), and runs it
 * OPERATIONS times, reading every column of every row. Prints the operations per second of all threads together. */

#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *path, *sql, *cache_size;
static uint64_t keys, operations;
static pthread_barrier_t barrier;

/* What a thread begins with and gives back. */
struct part {
    uint64_t seed, seen;
    struct timespec start, end;
};

static void check(int ok, sqlite3 *db) {
    if (!ok) {
        fprintf(stderr, "bare: %s\n", sqlite3_errmsg(db));
        exit(1);
    }
}

static uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

/* xoshiro256++, as the worker draws. */
static uint64_t next(uint64_t *s) {
    uint64_t result = rotate(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0], s[3] ^= s[1], s[1] ^= s[2], s[0] ^= s[3], s[2] ^= t, s[3] = rotate(s[3], 45);
    return result;
}

static void *run(void *argument) {
    struct part *part = argument;
    uint64_t seed = part->seed, seen = 0;
    uint64_t state[4] = {seed * 0x9E3779B97F4A7C15u, seed ^ 0xBF58476D1CE4E5B9u, seed + 77, ~seed};
    sqlite3 *db;
    sqlite3_stmt *statement;
    char pragma[64];
    check(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK, db);
    snprintf(pragma, sizeof pragma, "pragma cache_size = %s", cache_size);
    check(sqlite3_exec(db, pragma, NULL, NULL, NULL) == SQLITE_OK, db);
    check(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, db);
    int columns = sqlite3_column_count(statement);
    pthread_barrier_wait(&barrier);
    clock_gettime(CLOCK_MONOTONIC, &part->start);
    for (uint64_t i = 0; i < operations; i++) {
        uint64_t key = 1 + (uint64_t)(((__uint128_t)next(state) * keys) >> 64);
        check(sqlite3_bind_int64(statement, 1, (sqlite3_int64)key) == SQLITE_OK, db);
        int code;
        while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
            for (int column = 0; column < columns; column++) {
                switch (sqlite3_column_type(statement, column)) {
                case SQLITE_INTEGER: seen ^= (uint64_t)sqlite3_column_int64(statement, column); break;
                case SQLITE_FLOAT: seen ^= (uint64_t)sqlite3_column_double(statement, column); break;
                case SQLITE_NULL: break;
                default:
                    seen ^= (uintptr_t)sqlite3_column_blob(statement, column);
                    seen ^= (uint64_t)sqlite3_column_bytes(statement, column);
                }
            }
        }
        check(code == SQLITE_DONE, db);
        check(sqlite3_reset(statement) == SQLITE_OK, db);
    }
    clock_gettime(CLOCK_MONOTONIC, &part->end);
    part->seen = seen;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return NULL;
}

static double seconds(struct timespec time) { return (double)time.tv_sec + (double)time.tv_nsec / 1e9; }

int main(int count, char **arguments) {
    if (count != 7) {
        fprintf(stderr, "bare DATABASE SQL KEYS THREADS OPERATIONS CACHE_SIZE\n");
        return 2;
    }
    path = arguments[1], sql = arguments[2], keys = strtoull(arguments[3], NULL, 10);
    int threads = atoi(arguments[4]);
    pthread_t handles[64];
    struct part parts[64];
    operations = strtoull(arguments[5], NULL, 10), cache_size = arguments[6];
    if (threads < 1 || threads > 64) {
        return 2;
    }
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        parts[i].seed = (uint64_t)i + 1;
        pthread_create(&handles[i], NULL, run, &parts[i]);
    }
    /* The threads read the clock themselves: this one, on a machine they keep busy, would come to it late. */
    double start = 0, end = 0;
    uint64_t seen = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(handles[i], NULL);
        start = i == 0 || seconds(parts[i].start) < start ? seconds(parts[i].start) : start;
        end = seconds(parts[i].end) > end ? seconds(parts[i].end) : end;
        seen ^= parts[i].seen;
    }
    printf("%.1f %llx\n", (double)operations * threads / (end - start), (unsigned long long)seen);
    return 0;
}
