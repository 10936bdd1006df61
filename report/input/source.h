/*
 * Inputs by name, and the nsprof-symbolize that reads a recording. In a parser (parser.h), the program
 * that it belongs to opens and starts them. The functions work in both.
 */
#ifndef NSPROF_SOURCE_H
#define NSPROF_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct load_opts;

/*
 * An owned fd for @path ("-" is standard input), or negative errno after a message. *@perf: it
 * is a folder of "perf record --threads". Waits for the writer of a FIFO; -EINTR after SIGINT, without a
 * message.
 */
int source_open(const char *path, bool *perf);
/* The same for a file or folder; -EAGAIN without a message for a pipe or device, which is not opened. */
int source_look(const char *path, bool *perf);
/* A temporary file for what comes from a pipe: an owned fd, or negative errno after a message. */
int source_temp(void);
/*
 * Starts nsprof-symbolize for the recording @path, or if that is no file or folder, for the last
 * source_temp(). An owned fd from which a profile can be read, or negative errno after a message.
 */
int source_symbolize(const struct load_opts *o, const char *path);
/* Waits for it: its wait status. */
int source_wait(void);

/* What a program serves. */
struct source_served {
	const char *const *paths;	/* the inputs that the user named; borrowed */
	size_t n;
	const struct load_opts *o;	/* borrowed */
};

/* In the program: answers a request of the functions above. -ENOSYS: it is none. */
int source_serve(const struct source_served *s, uint32_t kind, int *value, const char *path, int *fd);

#endif
