/*
 * The file of the recording, or several files: with --switch-output and --overwrite they are named
 * FILE.<local time of their end>, as with perf. No file is touched before the recording is sure to
 * start.
 */
#ifndef NSPROF_OUTPUT_H
#define NSPROF_OUTPUT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/outplace.h"

#define OUTPUT_DEFAULT "nsprof.data"

struct output {
	const char *name;	/* "-" = standard output; borrowed */
	int fd;			/* owned unless it is standard output; -1 = not open */
	bool met;		/* output_meet() has opened it */
	/* Files of this run that may have to be removed, and the latest; oldest first; owned. */
	char **made;
	size_t nmade, made_cap;
	struct outplace at;	/* of FILE; at.dir is -1 for descriptors and standard output */
	char *temp;		/* what FILE is called until output_commit(); NULL = FILE; owned */
	bool nameless;		/* it has no name until then */
};

/*
 * @path NULL: the default name, or standard output if that is a pipe (as perf does). Checks whether
 * writing will be possible, and creates and changes nothing. 0, or negative errno after a message
 * (-EINVAL: a terminal).
 */
int output_check(struct output *out, const char *path);
/*
 * After output_check(): is more than one file possible? 0, or -EINVAL after a message that names
 * @option: not with standard output, a pipe or a device.
 */
int output_check_many(const struct output *out, const char *option);

/*
 * Opens a FIFO before anything begins, which waits for a reader. Does nothing for other files.
 * @signals are blocked. 0, or negative errno after a message, or -EINTR with *@signo, the signal of
 * @signals that ended the wait.
 */
int output_meet(struct output *out, const sigset_t *signals, int *signo);
/*
 * Opens a new file with a temporary name beside FILE, mode 0600. 0 or negative errno
 * after a message.
 */
int output_open(struct output *out);
/*
 * When there is something to read in it: gives it its name. Renames an existing, non-empty regular
 * file to FILE.old. 0, or negative errno after a message.
 */
int output_commit(struct output *out);
/* Is that still to come, for a file that is open? */
bool output_pending(const struct output *out);
/* For when nothing at all could be written: closes the file, and removes it before its commit. */
void output_undo(struct output *out);
/* Warns if the open file is no longer @name: somebody moved or removed it. */
void output_look(const struct output *out, const char *name);
/* Can the output be read again? Not a pipe, a device or standard output. */
bool output_stays(const struct output *out);
/* The name for messages: "standard output" for "-". */
const char *output_shown(const struct output *out);

/* 0, or negative errno of close(2); no message. */
int output_close(struct output *out);
void output_fini(struct output *out);

/*
 * Gives FILE, open or closed, its final name. Returns it for messages, borrowed until
 * output_prune(); NULL after a message: the file keeps its name.
 */
const char *output_stamp(struct output *out);
/*
 * Opens a new FILE.<time>. Returns an fd, owned by the caller, and *@name as above; or negative
 * errno after a message.
 */
int output_open_stamped(struct output *out, const char **name);
/* Removes FILE or a stamped file, with a warning if that fails. @path: only its name counts. */
void output_remove(const struct output *out, const char *path);
/* Removes the oldest stamped files beyond @max; 0 = keep all. */
void output_prune(struct output *out, uint64_t max);

#endif
