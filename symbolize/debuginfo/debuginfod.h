/* Debug info from debuginfod servers, when the user asked for it. The only user of libdebuginfod. */
#ifndef NSPROF_DEBUGINFOD_H
#define NSPROF_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * --debuginfod[=URLS]: ask these servers (blanks between), or those of $DEBUGINFOD_URLS. The library
 * is loaded now, into a child process: call it before there are threads. 0, or negative errno after a message.
 */
int debuginfod_turn_on(const char *urls);
bool debuginfod_is_on(void);

/*
 * Owned O_RDONLY fd of the debug file for build-id @id, from the library's cache or a server;
 * -ENOENT when they have none. When a server sends no byte for 5 s, or less than 100 KiB in
 * $DEBUGINFOD_TIMEOUT seconds (10 by default), one warning says so and no server is asked again: -ETIMEDOUT. SIGINT and
 * SIGTERM (interrupt.h) end the wait: -EINTR. That a server does not have a file is remembered by the library in its
 * cache (10 minutes by default).
 */
int debuginfod_fetch(const uint8_t *id, size_t len);

#endif
