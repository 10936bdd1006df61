/*
 * Causes page faults and reports how many: an oracle for a recorder's count of them.
 *
 *	faults PAGES [CHILDREN]
 *
 * Prints "ready PID". Then, for each line on stdin, it touches PAGES new pages, and so do CHILDREN
 * forked children one after the other; it prints "round" when done. At the end of stdin it prints
 * "faults N": minor and major faults since "ready", of itself and its children, from getrusage(2).
 * It runs one round before "ready", so that everything the program itself needs is in memory and
 * locked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

static void touch(long pages)
{
	size_t len = (size_t)pages * PAGE;
	volatile char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED || madvise((void *)p, len, MADV_NOHUGEPAGE))
		_exit(2);
	for (size_t i = 0; i < len; i += PAGE)
		p[i] = 1;
	munmap((void *)p, len);
}

static void play(long pages, int children)
{
	touch(pages);
	for (int i = 0; i < children; i++) {
		pid_t pid = fork();

		if (!pid) {
			touch(pages);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			_exit(2);
	}
}

static long faults(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	return self.ru_minflt + self.ru_majflt + children.ru_minflt + children.ru_majflt;
}

/* No stdio once it counts, because its buffers are memory, too. */
static void say(const char *what, long n)
{
	static char line[64];
	int len = snprintf(line, sizeof(line), "%s %ld\n", what, n);

	if (write(STDOUT_FILENO, line, (size_t)len) != len)
		_exit(2);
}

int main(int argc, char **argv)
{
	long pages = argc > 1 ? atol(argv[1]) : 0, before;
	int children = argc > 2 ? atoi(argv[2]) : 0;
	char c;

	if (pages <= 0)
		return 2;
	play(pages, children);
	faults();
	say("warm", 0);
	/* Not future pages: the kernel would populate them ahead. */
	if (mlockall(MCL_CURRENT))
		return 2;
	before = faults();
	say("ready", (long)getpid());
	while (read(STDIN_FILENO, &c, 1) == 1) {
		play(pages, children);
		say("round", pages * (1 + children));
	}
	/*
	 * The first call may fault when the kernel stores its result, which does not include that
	 * fault.
	 */
	faults();
	say("faults", faults() - before);
	_exit(0);
}
