/*
 * Gets debug info from debuginfod servers, if the user asked for it. The only user of
 * libdebuginfod.
 */
#ifndef NSPROF_DEBUGINFOD_H
#define NSPROF_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * --debuginfod[=URLS]: use these servers (separated by blanks), or those of $DEBUGINFOD_URLS. Loads
 * the library into a child process: call it before any thread starts. 0, or negative errno after a
 * message.
 */
int debuginfod_turn_on(const char *urls);
/* Ends the child, and removes what it has loaded in part. */
void debuginfod_turn_off(void);
bool debuginfod_is_on(void);

/*
 * Returns an owned O_RDONLY fd of the debug file for build-id @id, from the library's cache or a
 * server; -ENOENT if none has it. -ETIMEDOUT: a server sent no byte for 5 s, or less than 100 KiB
 * in $DEBUGINFOD_TIMEOUT seconds (10 by default); one warning is printed, and no server is asked
 * again. -EINTR: SIGINT or SIGTERM ended the wait (interrupt.h). The library caches that a server
 * does not have a file (10 minutes by default).
 */
int debuginfod_fetch(const uint8_t *id, size_t len);

#endif
