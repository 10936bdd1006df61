/*
 * Commands from another program while a recording runs (--control), in perf's protocol: one command
 * per line, on a descriptor or a FIFO. Each is answered with "ack\n" if there is a descriptor for
 * answers.
 */
#ifndef NSPROF_CONTROL_H
#define NSPROF_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

enum control_cmd {
	CONTROL_NONE,		/* no complete line yet */
	CONTROL_ENABLE,
	CONTROL_DISABLE,
	CONTROL_STOP,
	CONTROL_SNAPSHOT,
	CONTROL_EVLIST,
	CONTROL_PING,
};

struct control {
	int fd, ack;		/* -1 = none */
	bool owned;		/* both are to be closed */
	char buf[512];		/* the beginning of a line */
	size_t len;
};

#define CONTROL_INIT { -1, -1, false, "", 0 }

/*
 * @spec: "fd:N[,ACK]" or "fifo:PATH[,ACK]"; NULL: open nothing. 0; -EINVAL after a message if @spec
 * is malformed; or another negative errno after a message. Call control_close() in any case.
 */
int control_open(struct control *c, const char *spec);
void control_close(struct control *c);

/*
 * Call once when it is readable, then control_next() until CONTROL_NONE. False: nothing more will
 * come.
 */
bool control_read(struct control *c);
/* The next command. Skips unknown commands with a warning; they get no answer. */
enum control_cmd control_next(struct control *c);
void control_ack(const struct control *c);

#endif
