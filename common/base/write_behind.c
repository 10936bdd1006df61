/*
 * Writing in parallel to formatting (write_behind.h). For large output the kernel takes half of the
 * time, to copy the text. That needs a CPU, but not the one that formats the text.
 */
#include "base/write_behind.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/util.h"
#include "base/write_all.h"
#include "base/xalloc.h"

/*
 * Bytes per write of the thread. In a file that was empty each write starts at a multiple of PIECE,
 * so that no page of the file system is written in two parts, which takes half as long again.
 */
#define PIECE (1u << 20)
#define PIECES 4u
/*
 * Bytes per write of the caller. Short texts need fewer pages this way, and these are still in the
 * CPU's cache when the kernel copies them.
 */
#define FIRST (256u << 10)

/*
 * The caller writes up to this much itself: for less, starting a thread costs as much as it saves.
 */
#define BESIDE_BYTES (16u << 20)

#define PAGE 4096u

struct write_behind {
	FILE *stream;		/* owned */
	int fd;			/* borrowed */
	bool beside, started;
	bool claims;		/* see claim() */
	char *pieces;		/* owned; PIECES of them */
	char *now;		/* the piece being filled */
	size_t len;		/* bytes in now */
	uint64_t written;	/* bytes; not counted once there is a thread */
	pthread_t tid;
	pthread_mutex_t lock;	/* protects what follows, once there is a thread */
	pthread_cond_t change;
	size_t lens[PIECES];	/* bytes of the pieces to be written */
	unsigned int made, done;	/* they differ by at most PIECES */
	bool stop, full;	/* full: the caller waits for room */
	int err;		/* negative errno of the first write that failed */
};

static char *piece(struct write_behind *wb, unsigned int n)
{
	return wb->pieces + (size_t)(n % PIECES) * PIECE;
}

/*
 * * Lets the file system allocate the blocks of a whole piece before it is written. Without this,
 * ext4 reserves a block page by page, which takes a third of the time of the write
 * (ext4_da_get_block_prep(), fs/ext4/inode.c). Other file systems were not measured, and allocating
 * may be expensive there: a request to a server, or text that is stored uncompressed. Errors such
 * as a full disk are reported by the write. If the process is killed before the write, or the write
 * fails, at most one piece stays allocated behind the end of the file.
 */
static void claim(struct write_behind *wb, size_t len)
{
	off_t at = wb->claims && len % FIRST == 0 ? lseek(wb->fd, 0, SEEK_CUR) : -1;

	if (at >= 0 && fallocate(wb->fd, FALLOC_FL_KEEP_SIZE, at, (off_t)len))
		wb->claims = false;
}

/* With O_APPEND we cannot know the position of the next write. */
static bool may_claim(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct statfs fs;

	return flags >= 0 && !(flags & O_APPEND) && !fstatfs(fd, &fs) && fs.f_type == EXT4_SUPER_MAGIC;
}

static int write_piece(struct write_behind *wb, const char *text, size_t len)
{
	claim(wb, len);
	return write_all(wb->fd, text, len);
}

/* Writes the next piece. The lock is held on entry and on return, and released during the write. */
static void write_next(struct write_behind *wb)
{
	unsigned int n = wb->done;
	int err = wb->err;

	pthread_mutex_unlock(&wb->lock);
	if (!err)
		err = write_piece(wb, piece(wb, n), wb->lens[n % PIECES]);
	pthread_mutex_lock(&wb->lock);
	wb->err = err;
	wb->done++;
	/* Not for each piece: waking a thread takes a tenth of the time of a write. */
	if (wb->full && wb->made - wb->done <= PIECES / 2)
		pthread_cond_signal(&wb->change);
}

static void *writer(void *arg)
{
	struct write_behind *wb = arg;

	pthread_mutex_lock(&wb->lock);
	for (;;) {
		if (wb->done != wb->made)
			write_next(wb);
		else if (wb->stop)
			break;
		else
			pthread_cond_wait(&wb->change, &wb->lock);
	}
	pthread_mutex_unlock(&wb->lock);
	return NULL;
}

/*
 * The thread blocks all signals, so that the caller's threads get them, except those that a write
 * raises. If no thread can be created, the caller keeps writing.
 */
static void start(struct write_behind *wb)
{
	sigset_t all, old;

	wb->beside = false;
	if (cpus_usable() < 2)
		return;
	sigfillset(&all);
	sigdelset(&all, SIGPIPE);
	sigdelset(&all, SIGXFSZ);
	sigdelset(&all, SIGSYS);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	wb->started = !pthread_create(&wb->tid, NULL, writer, wb);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static int write_here(struct write_behind *wb)
{
	if (!wb->err)
		wb->err = write_piece(wb, wb->now, wb->len);
	wb->written += wb->len;
	if (wb->beside && wb->written >= BESIDE_BYTES)
		start(wb);
	return wb->err;
}

/* On return there is room for another piece. */
static int hand_over(struct write_behind *wb)
{
	int err;

	pthread_mutex_lock(&wb->lock);
	wb->lens[wb->made % PIECES] = wb->len;
	/* Otherwise the thread is writing and will look again. */
	if (wb->made++ == wb->done)
		pthread_cond_signal(&wb->change);
	wb->full = wb->made - wb->done == PIECES;
	while (wb->full && wb->made - wb->done > PIECES / 2)
		pthread_cond_wait(&wb->change, &wb->lock);
	wb->full = false;
	wb->now = piece(wb, wb->made);
	err = wb->err;
	pthread_mutex_unlock(&wb->lock);
	return err;
}

static int flush(struct write_behind *wb)
{
	int err = wb->started ? hand_over(wb) : write_here(wb);

	wb->len = 0;
	return err;
}

/* The stream's write function: like write(2), except that an error is reported as 0. */
static ssize_t add(void *cookie, const char *text, size_t len)
{
	struct write_behind *wb = cookie;
	size_t at = 0;

	while (at < len) {
		const size_t room = wb->started ? PIECE : FIRST, n = MIN(len - at, room - wb->len);
		int err = 0;

		memcpy(wb->now + wb->len, text + at, n);
		wb->len += n;
		at += n;
		if (wb->len == room)
			err = flush(wb);
		if (err) {
			errno = -err;
			return 0;
		}
	}
	return (ssize_t)len;
}

struct write_behind *write_behind_new(int fd, bool beside, FILE **stream)
{
	struct write_behind *wb = xcalloc(1, sizeof(*wb));
	void *pieces = NULL;

	wb->stream = fopencookie(wb, "w", (cookie_io_functions_t){ .write = add });
	/* A page of it takes no memory before it is filled. */
	if (!wb->stream || posix_memalign(&pieces, PAGE, (size_t)PIECES * PIECE)) {
		if (wb->stream)
			fclose(wb->stream);
		free(wb);
		return NULL;
	}
	wb->fd = fd;
	wb->beside = beside;
	wb->claims = may_claim(fd);
	wb->pieces = wb->now = pieces;
	pthread_mutex_init(&wb->lock, NULL);
	pthread_cond_init(&wb->change, NULL);
	*stream = wb->stream;
	return wb;
}

int write_behind_end(struct write_behind *wb)
{
	int err = fclose(wb->stream) ? -errno : 0;

	if (wb->len)
		flush(wb);
	if (wb->started) {
		pthread_mutex_lock(&wb->lock);
		wb->stop = true;
		pthread_cond_signal(&wb->change);
		pthread_mutex_unlock(&wb->lock);
		pthread_join(wb->tid, NULL);
	}
	/* The stream may have failed earlier, which fclose(3) does not report. */
	if (wb->err)
		err = wb->err;
	pthread_mutex_destroy(&wb->lock);
	pthread_cond_destroy(&wb->change);
	free(wb->pieces);
	free(wb);
	return err;
}
