/*
 * Commands from another program while a recording runs (--control), as perf has them: lines on a descriptor or a FIFO, each
 * answered with "ack\n" where there is somewhere to answer.
 */
#ifndef NSPROF_CONTROL_H
#define NSPROF_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

enum control_cmd {
	CONTROL_NONE,		/* no whole line is there */
	CONTROL_ENABLE,
	CONTROL_DISABLE,
	CONTROL_STOP,
	CONTROL_SNAPSHOT,
	CONTROL_EVLIST,
	CONTROL_PING,
};

struct control {
	int fd, ack;		/* -1 = none */
	bool owned;		/* both: to be closed */
	char buf[512];		/* the beginning of a line */
	size_t len;
};

#define CONTROL_INIT { -1, -1, false, "", 0 }

/*
 * @spec: "fd:N[,ACK]" or "fifo:PATH[,ACK]"; NULL: nothing to open. 0; -EINVAL after a message when it is not so, or another
 * negative errno after a message. Own with control_close() in any case.
 */
int control_open(struct control *c, const char *spec);
void control_close(struct control *c);

/* Once when it is readable, then control_next() until CONTROL_NONE. False: nothing will come any more. */
bool control_read(struct control *c);
/* The next command. What is none is said and passed over, and not answered. */
enum control_cmd control_next(struct control *c);
void control_ack(const struct control *c);

#endif
