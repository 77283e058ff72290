/* A client that does nothing but ask: the least that a client of MariaDB spends which sleeps until the answer is there.
 *
 *   bare_client SOCKET SECONDS ROWS < messages
 *
 * Messages are lines: `read` reads an answer, `send HEX` sends a message, `ask HEX` sends one again and again for so many
 * seconds, with the statement's number from the last answer at byte 5 and a number from 1 to ROWS in the last four bytes.
 * Prints how many answers came, and in how many seconds. */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 16, STATEMENT = 5, NUMBER = 4 };

static unsigned char answer[MOST], message[MOST];

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void send_message(int server, size_t length) {
    if (send(server, message, length, MSG_NOSIGNAL) != (ssize_t)length) fail("send");
}

static size_t receive(int server) {
    struct pollfd readable = {.fd = server, .events = POLLIN};
    if (poll(&readable, 1, 10000) != 1) fail("no answer");
    ssize_t length = recv(server, answer, sizeof answer, 0);
    if (length <= 0) fail("recv");
    return (size_t)length;
}

static size_t from_hex(const char *text) {
    size_t length = 0;
    unsigned byte;
    while (length < MOST && sscanf(text + 2 * length, "%2x", &byte) == 1) message[length++] = (unsigned char)byte;
    return length;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* All answers are as long as the first, which comes in one piece. */
static void ask(int server, size_t length, double seconds, uint32_t rows) {
    unsigned long asked = 0;
    size_t whole = 0;
    uint64_t state = 88172645463325252u;
    double start = now(), moment;
    memcpy(message + STATEMENT, answer + STATEMENT, NUMBER);
    do {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint32_t row = 1 + (uint32_t)(((state >> 32) * rows) >> 32);
        memcpy(message + length - NUMBER, &row, NUMBER);
        send_message(server, length);
        size_t have = receive(server);
        if (whole == 0) whole = have;
        while (have < whole) have += receive(server);
        if (have != whole) {
            fprintf(stderr, "an answer of %zu bytes after one of %zu\n", have, whole);
            exit(1);
        }
        asked++;
    } while ((moment = now()) < start + seconds);
    printf("%lu %.6f\n", asked, moment - start);
}

int main(int count, char **words) {
    if (count != 4) {
        fprintf(stderr, "usage: bare_client SOCKET SECONDS ROWS < messages\n");
        return 2;
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, words[1], sizeof address.sun_path - 1);
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    if (server < 0 || connect(server, (struct sockaddr *)&address, sizeof address) != 0) fail(words[1]);
    static char line[2 * MOST];
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "read", 4) == 0) {
            receive(server);
            continue;
        }
        const char *hex = strchr(line, ' ');
        size_t length = hex ? from_hex(hex + 1) : 0;
        if (strncmp(line, "ask", 3) == 0) {
            ask(server, length, atof(words[2]), (uint32_t)atol(words[3]));
        } else {
            send_message(server, length);
        }
    }
    return 0;
}
