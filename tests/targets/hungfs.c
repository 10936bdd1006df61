/*
 * hungfs FOLDER PROGRAM WHEN COMMAND...: a FUSE file system at FOLDER, without libfuse, and COMMAND
 * beside it. Its only file "app" has the bytes of PROGRAM. From WHEN on no request is answered:
 *
 *   now      none, from the beginning
 *   getattr, open, read, write, flush    none of this kind, from the beginning
 *   usr1     after SIGUSR1
 *   late-MS  all are answered, those of a profiler MS milliseconds late, before SIGUSR1; says "late"
 *            on standard output for each of these
 *
 * Names that begin with "app" and end with a number are other files with the same bytes.
 * COMMAND may be a program that FOLDER hides, one in it, or hungfs for one more folder. The server ends
 * with it, and what waits for it then fails. Requests and answers are those of <linux/fuse.h>; attributes
 * are never cached.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define APP 2	/* its inode; the root's is 1, that of "app7" is 9 */

static volatile sig_atomic_t hung;
static char *bytes;
static size_t nbytes;

static void hang(int sig)
{
	(void)sig;
	hung = 1;
}

static void load(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &st))
		exit(2);
	/* It may be large. */
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		exit(2);
	nbytes = (size_t)st.st_size;
	close(fd);
}

static void answer(int fd, uint64_t id, int err, const void *data, size_t len)
{
	static char buf[sizeof(struct fuse_out_header) + (1 << 17)];
	struct fuse_out_header h = { .len = (uint32_t)(sizeof(h) + len), .error = err, .unique = id };

	memcpy(buf, &h, sizeof(h));
	if (len)
		memcpy(buf + sizeof(h), data, len);
	/* The caller may be gone. */
	if (write(fd, buf, sizeof(h) + len) < 0 && errno != ENOENT)
		_exit(0);
}

static struct fuse_attr attr_of(uint64_t ino)
{
	return (struct fuse_attr){
		.ino = ino, .size = ino >= APP ? nbytes : 0, .mode = ino >= APP ? S_IFREG | 0755 : S_IFDIR | 0777,
		.nlink = 1, .blksize = 4096,
	};
}

static void serve(int fd, const struct fuse_in_header *h)
{
	const void *in = h + 1;

	if (h->opcode == FUSE_INIT) {
		struct fuse_init_out o = { .major = 7, .minor = 31, .max_write = 1 << 16 };

		answer(fd, h->unique, 0, &o, sizeof(o));
	} else if (h->opcode == FUSE_LOOKUP) {
		uint64_t ino = APP + (strncmp(in, "app", 3) ? 0 : strtoull((const char *)in + 3, NULL, 10));
		struct fuse_entry_out o = { .nodeid = ino, .attr = attr_of(ino) };
		int missing = strncmp(in, "app", 3) != 0;

		answer(fd, h->unique, missing ? -ENOENT : 0, &o, missing ? 0 : sizeof(o));
	} else if (h->opcode == FUSE_GETATTR) {
		struct fuse_attr_out o = { .attr = attr_of(h->nodeid) };

		answer(fd, h->unique, 0, &o, sizeof(o));
	} else if (h->opcode == FUSE_OPEN || h->opcode == FUSE_OPENDIR) {
		struct fuse_open_out o = { .fh = 1 };

		answer(fd, h->unique, 0, &o, sizeof(o));
	} else if (h->opcode == FUSE_STATFS) {
		struct fuse_statfs_out o = { .st = { .bsize = 4096, .namelen = 255 } };

		answer(fd, h->unique, 0, &o, sizeof(o));
	} else if (h->opcode == FUSE_READ) {
		const struct fuse_read_in *r = in;
		size_t at = r->offset < nbytes ? r->offset : nbytes, n = r->size < nbytes - at ? r->size : nbytes - at;

		answer(fd, h->unique, 0, bytes + at, n);
	} else if (h->opcode == FUSE_FLUSH || h->opcode == FUSE_RELEASE || h->opcode == FUSE_RELEASEDIR || h->opcode == FUSE_ACCESS) {
		answer(fd, h->unique, 0, NULL, 0);
	} else if (h->opcode != FUSE_FORGET && h->opcode != FUSE_BATCH_FORGET && h->opcode != FUSE_INTERRUPT) {
		answer(fd, h->unique, -ENOSYS, NULL, 0);
	}
}

static int is_hung(const char *when, uint32_t opcode)
{
	if (opcode == FUSE_INIT)
		return 0;
	return (hung && strncmp(when, "late-", 5)) || !strcmp(when, "now") || (!strcmp(when, "getattr") && opcode == FUSE_GETATTR) ||
	       (!strcmp(when, "open") && opcode == FUSE_OPEN) || (!strcmp(when, "read") && opcode == FUSE_READ) || (!strcmp(when, "write") && opcode == FUSE_WRITE) ||
	       (!strcmp(when, "flush") && opcode == FUSE_FLUSH);
}

/* The kernel tells who asks. */
static int is_profiler(uint32_t pid)
{
	char path[64], comm[16] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (read(fd, comm, sizeof(comm) - 1) < 0)
		comm[0] = 0;
	close(fd);
	return !strncmp(comm, "nsprof", 6);
}

int main(int argc, char **argv)
{
	static char buf[1 << 18];
	char options[128];
	pid_t child;
	int fd, program;
	long late;

	if (argc < 5)
		return 2;
	late = strncmp(argv[3], "late-", 5) ? 0 : atol(argv[3] + 5);
	load(argv[2]);
	program = open(argv[4], O_PATH | O_CLOEXEC);
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	if (fd < 0 || mount("hungfs", argv[1], "fuse.hungfs", 0, options)) {
		perror("hungfs");
		return 77;
	}
	signal(SIGUSR1, hang);
	child = getpid();
	/* The command keeps our pid; the server is its child. */
	if (fork()) {
		/* Only the server has it: when it dies, all requests fail. */
		close(fd);
		usleep(10000);
		if (program >= 0)
			syscall(SYS_execveat, program, "", argv + 4, environ, AT_EMPTY_PATH);
		else
			execv(argv[4], argv + 4);
		return 127;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != child)
		return 0;
	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno != EINTR && errno != ENOENT)
			return 0;
		if (n <= 0 || is_hung(argv[3], ((struct fuse_in_header *)buf)->opcode))
			continue;
		if (late && !hung && is_profiler(((struct fuse_in_header *)buf)->pid)) {
			dprintf(STDOUT_FILENO, "late\n");
			usleep((useconds_t)(1000 * late));
		}
		serve(fd, (struct fuse_in_header *)buf);
	}
}
