/* Stand-ins for functions of SQLite that a program calls and an older library lacks.
 *
 * Included ahead of the program, with DBDYNO_STANDS_IN_<name> defined for each function that is to be there. */

#ifndef DBDYNO_STAND_INS
#define DBDYNO_STAND_INS

#include "sqlite3.h"
#include <limits.h>

/* Since 3.8.7. */
#ifdef DBDYNO_STANDS_IN_sqlite3_bind_text64
static int sqlite3_bind_text64(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 bytes,
                               void (*destructor)(void *), unsigned char encoding) {
    if (bytes > INT_MAX) {
        return SQLITE_TOOBIG;
    }
    if (encoding != SQLITE_UTF8) {
        return sqlite3_bind_text16(statement, index, text, (int)bytes, destructor);
    }
    return sqlite3_bind_text(statement, index, text, (int)bytes, destructor);
}
#endif

/* Since 3.14. The text as it was prepared, without the values of its parameters. */
#ifdef DBDYNO_STANDS_IN_sqlite3_expanded_sql
static char *sqlite3_expanded_sql(sqlite3_stmt *statement) {
    return sqlite3_mprintf("%s", sqlite3_sql(statement));
}
#endif

#endif
