/* Messages between a program, its zygote and its openers (opener.h), with descriptors. */
#ifndef NSPROF_OPENER_WIRE_H
#define NSPROF_OPENER_WIRE_H

#include <stdint.h>
#include <sys/types.h>

#include "host/fileop.h"

/* Data behind the head of a message; more is passed in a memfd. */
#define WIRE_INLINE (64u << 10)
#define WIRE_FDS 2

/* To an opener. The path follows, with its NUL. */
struct wire_request {
	uint32_t kind;		/* enum fileop_kind; FILEOP_CLOSE has no answer */
	uint64_t from, to, max;
	uint32_t path_len;	/* bytes that follow; 0: no path */
	uint8_t fds;		/* bit i: fd[i] is passed */
};

/* From an opener. Data follows. */
struct wire_answer {
	int32_t err;		/* 0 or negative errno */
	struct stat st;
	uint64_t found, len;	/* len: bytes that follow, or are in the memfd */
	uint64_t slept;		/* ns that it waited for anything but a CPU */
	int32_t refused;	/* a system call that its sandbox refused; -1 = none */
	uint8_t has_fd, has_data, in_memfd;
};

enum zygote_kind {
	ZYGOTE_FORK,		/* answer: pid, with a socket; or negative errno */
	ZYGOTE_KILL,		/* no answer */
	ZYGOTE_PRIORITY,	/* of it and all openers from now on; no answer */
};

struct zygote_request {
	uint32_t kind;		/* enum zygote_kind */
	int32_t pid;
	int32_t nice, fifo;	/* fifo: realtime priority; 0 = none */
};

struct zygote_answer {
	int32_t pid;
};

/* Sends @head and @data as one message with @n descriptors. Does not wait. 0 or negative errno. */
int wire_send(int sock, const void *head, size_t head_len, const void *data, size_t len, const int *fds, int n);
/*
 * Receives one message: its length, 0 when the other side has gone, or negative errno. @fds: room
 * for WIRE_FDS; *@n of them are the caller's.
 */
ssize_t wire_recv(int sock, void *buf, size_t size, int fds[WIRE_FDS], int *n);
void wire_close(const int *fds, int n);

#endif
