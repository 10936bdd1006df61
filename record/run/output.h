/*
 * The file of the recording, or the files: with --switch-output and --overwrite they are named
 * FILE.<local time of their end>, as perf does. Nothing there is touched before the recording is
 * sure to start.
 */
#ifndef NSPROF_OUTPUT_H
#define NSPROF_OUTPUT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTPUT_DEFAULT "nsprof.data"

struct output {
	const char *name;	/* "-" = standard output; borrowed */
	int fd;			/* owned unless it is standard output; -1 = not open */
	bool met;		/* output_meet() has opened it */
	/* Files of this run that may have to be removed, and the latest; oldest first; owned. */
	char **made;
	size_t nmade, made_cap;
	char *path, *old;	/* where the file that was there was, and is now; NULL when none was; owned */
};

/*
 * @path NULL: the default name, or standard output when that is a pipe (perf's habit). Looks
 * whether writing will be possible; creates and changes nothing. 0, or negative errno after a
 * message (-EINVAL: a terminal).
 */
int output_check(struct output *out, const char *path);
/*
 * After output_check(): will more than one file be possible? 0, or -EINVAL after a message that
 * names @option: standard output, a pipe, a device.
 */
int output_check_many(const struct output *out, const char *option);

/*
 * A FIFO is opened before anything begins: that waits until somebody reads from it. Nothing to do for others. @signals are blocked;
 * 0, or negative errno after a message, or -EINTR with *@signo, the one of them that ended the wait.
 */
int output_meet(struct output *out, const sigset_t *signals, int *signo);
/*
 * Now: an existing, non-empty regular file becomes FILE.old; mode 0600. 0 or negative errno after a
 * message.
 */
int output_open(struct output *out);
/*
 * Nothing at all could be written: close it, remove what output_open() made, and give what was there its place again.
 * Not for errors later on, when there is something to read.
 */
void output_undo(struct output *out);
/* Say so if the open file is not @name any more: somebody moved or removed it. */
void output_look(const struct output *out, const char *name);
/* Can it be read again what is written: no pipe, no device, and not standard output? */
bool output_stays(const struct output *out);
/* The name for messages: "standard output" for "-". */
const char *output_shown(const struct output *out);

/* 0, or negative errno of close(2); no message. */
int output_close(struct output *out);
void output_fini(struct output *out);

/*
 * Give FILE, which is open or was closed, its last name. The name, for messages, borrowed until
 * output_prune(); NULL after a message: it still has the old one.
 */
const char *output_stamp(struct output *out);
/* A new FILE.<time> of its own. An fd, owned by the caller, and its *@name as above; or negative
 * errno after a message. */
int output_open_stamped(struct output *out, const char **name);
/* Remove the oldest of the stamped files beyond @max; 0 = keep all. */
void output_prune(struct output *out, uint64_t max);

#endif
