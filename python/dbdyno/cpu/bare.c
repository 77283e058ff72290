/* The reference: a bare loop over SQLite's C interface that does what a trial does and records nothing.
 *
 *   bare DATABASE SQL KEYS THREADS OPERATIONS CACHE_SIZE [START TURN PERIOD CPU]
 *
 * Each thread opens the database, prepares SQL (one parameter, a key drawn uniformly from 1 to KEYS), and runs it
 * OPERATIONS times, reading every column of every row. Prints the operations per second of all threads together.
 *
 * With START, TURN and PERIOD (nanoseconds, the first of CLOCK_MONOTONIC) it begins then, and runs in the first TURN of each
 * PERIOD only, as a trial does that takes turns with others; the pauses are not in its time. Each thread is on one
 * processor in a turn and on the next in the next, the first thread on number CPU in the first. */

#define _GNU_SOURCE

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define WAKING 200000

static const char *path, *sql, *cache_size;
static uint64_t keys, operations;
static uint64_t first_turn, turn, period, cpu;
static int threads;
static int processors, allowed[CPU_SETSIZE];
static pthread_barrier_t barrier;

/* Of the thread: the timer that ends its turns, the end of this one, and the nanoseconds it has paused. */
static __thread timer_t timer;
static __thread uint64_t turn_end, paused, place;

/* What a thread begins with and gives back; nanoseconds. */
struct part {
    uint64_t seed, seen, start, end, place;
};

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static struct timespec as_time(uint64_t nanoseconds) {
    return (struct timespec){(time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u)};
}

static void sleep_until(uint64_t at) {
    struct timespec time = as_time(at);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {
    }
}

static void choose_processor(uint64_t number) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(allowed[(cpu + place + number) % (uint64_t)processors], &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* Has the signal come when the turn ends that began at `start`. */
static void begin_turn(uint64_t start) {
    turn_end = start + turn;
    struct itimerspec when = {.it_value = as_time(turn_end)};
    timer_settime(timer, TIMER_ABSTIME, &when, NULL);
}

/* The turn is over: sleeps until the next, wherever the thread is. */
static void pause_for_others(int signal) {
    (void)signal;
    int error = errno;
    uint64_t began = now();
    uint64_t number = ((began > turn_end ? began : turn_end) - first_turn + period - 1) / period;
    uint64_t next = first_turn + number * period;
    choose_processor(number);
    sleep_until(next);
    begin_turn(next);
    /* As for the worker: waking up is the pause's, waiting for a processor that another thread has is not. */
    uint64_t back = now(), in_turn = back < turn_end ? back : turn_end, awake = next + WAKING;
    paused += back - began - (in_turn > awake ? in_turn - awake : 0);
    errno = error;
}

/* Waits for the first turn, and keeps the calling thread to its turns from then on. */
static void take_turns(void) {
    struct sigaction action = {.sa_handler = pause_for_others, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    if (sigaction(SIGRTMIN, &action, NULL) != 0 || timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) {
        perror("bare: setting the timer that ends a turn");
        exit(1);
    }
    choose_processor(0);
    sleep_until(first_turn);
    begin_turn(first_turn);
}

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
    if (turn) {
        place = part->place;
        take_turns();
    }
    part->start = now();
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
    if (turn) {
        timer_delete(timer);
    }
    part->end = now() - paused;
    part->seen = seen;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 7 && count != 11) {
        fprintf(stderr, "bare DATABASE SQL KEYS THREADS OPERATIONS CACHE_SIZE [START TURN PERIOD CPU]\n");
        return 2;
    }
    path = arguments[1], sql = arguments[2], keys = strtoull(arguments[3], NULL, 10);
    threads = atoi(arguments[4]);
    pthread_t handles[64];
    struct part parts[64];
    operations = strtoull(arguments[5], NULL, 10), cache_size = arguments[6];
    if (threads < 1 || threads > 64) {
        return 2;
    }
    if (count == 11) {
        first_turn = strtoull(arguments[7], NULL, 10);
        turn = strtoull(arguments[8], NULL, 10), period = strtoull(arguments[9], NULL, 10);
        cpu = strtoull(arguments[10], NULL, 10);
        cpu_set_t set;
        if (sched_getaffinity(0, sizeof set, &set) != 0) {
            perror("bare: asking for the processors");
            return 1;
        }
        for (int each = 0; each < CPU_SETSIZE; each++) {
            if (CPU_ISSET(each, &set)) {
                allowed[processors++] = each;
            }
        }
    }
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        parts[i].seed = (uint64_t)i + 1, parts[i].place = (uint64_t)i;
        pthread_create(&handles[i], NULL, run, &parts[i]);
    }
    /* The threads read the clock themselves: this one, on a machine they keep busy, would come to it late. */
    uint64_t start = UINT64_MAX, end = 0, seen = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(handles[i], NULL);
        start = parts[i].start < start ? parts[i].start : start;
        end = parts[i].end > end ? parts[i].end : end;
        seen ^= parts[i].seen;
    }
    printf("%.1f %llx\n", (double)operations * threads * 1e9 / (double)(end - start), (unsigned long long)seen);
    return 0;
}
