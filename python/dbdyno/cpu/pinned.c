/* What a program is not to have from the system, so that its count is the same each time: the time of day, the number of
 * its process, and random bytes. Linked with it, in place of the C library's functions (`--wrap`).
 *
 * Each look at a clock finds it a millisecond later, so that what waits for time to pass is not left waiting. */

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>

/* Milliseconds; the first second of 2026. */
static long long milliseconds = 1767225600000LL;

static long long later(void) { return ++milliseconds; }

time_t __wrap_time(time_t *at) {
    time_t seconds = (time_t)(later() / 1000);
    if (at) {
        *at = seconds;
    }
    return seconds;
}

int __wrap_gettimeofday(struct timeval *at, void *zone) {
    long long now = later();
    (void)zone;
    at->tv_sec = (time_t)(now / 1000);
    at->tv_usec = (suseconds_t)(now % 1000 * 1000);
    return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *at) {
    long long now = later();
    (void)clock;
    at->tv_sec = (time_t)(now / 1000);
    at->tv_nsec = (long)(now % 1000 * 1000000);
    return 0;
}

clock_t __wrap_clock(void) { return (clock_t)(later() % 1000000 * (CLOCKS_PER_SEC / 1000)); }

pid_t __wrap_getpid(void) { return 1000; }

static int is_random(const char *path) { return !strcmp(path, "/dev/urandom") || !strcmp(path, "/dev/random"); }

int __real_open(const char *path, int flags, ...);
int __real_open64(const char *path, int flags, ...);

/* SQLite makes a seed of the time and the process where there are no random bytes. */
#define OPEN(name)                                                                                                     \
    int __wrap_##name(const char *path, int flags, ...) {                                                              \
        va_list more;                                                                                                  \
        int mode;                                                                                                      \
        va_start(more, flags);                                                                                         \
        mode = va_arg(more, int);                                                                                      \
        va_end(more);                                                                                                  \
        if (is_random(path)) {                                                                                         \
            errno = ENOENT;                                                                                            \
            return -1;                                                                                                 \
        }                                                                                                              \
        return __real_##name(path, flags, mode);                                                                       \
    }

OPEN(open)
OPEN(open64)
