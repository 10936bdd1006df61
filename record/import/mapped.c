/*
 * Survives SIGBUS in mapped files (mapped.h). The handler puts zeroed memory over the rest of the
 * mapping: mmap(2) is a plain system call, and the pages behind the fault are gone as well.
 */
#include "import/mapped.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* "data" and the parts of a directory by perf record --threads. */
#define MAPS_MAX 4097

static struct {
	uintptr_t start, end;
} maps[MAPS_MAX];

static volatile sig_atomic_t nmaps, shrank;
static struct sigaction before;	/* what SIGBUS does elsewhere */

static void on_bus(int signo, siginfo_t *info, void *context)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)info->si_addr & ~(page - 1);
	const int err = errno;

	(void)context;
	for (int i = 0; i < nmaps; i++) {
		if (at < maps[i].start || at >= maps[i].end)
			continue;
		if (mmap((void *)at, maps[i].end - at, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			break;
		shrank = 1;
		errno = err;
		return;
	}
	/* Not one of ours: the access is repeated on return. */
	sigaction(signo, &before, NULL);
	errno = err;
}

int mapped_open(int fd, size_t size, const uint8_t **map)
{
	const struct sigaction sa = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };
	int at = nmaps;
	void *p;

	if (at == MAPS_MAX)
		return -EMFILE;
	p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	if (!at)
		shrank = 0;
	maps[at].start = (uintptr_t)p;
	maps[at].end = (uintptr_t)p + size;
	nmaps = at + 1;
	*map = p;
	if (!sigaction(SIGBUS, &sa, at ? NULL : &before))
		return 0;
	mapped_close(p, size);
	return -EINVAL;
}

void mapped_close(const uint8_t *map, size_t size)
{
	int i = 0;

	while (i + 1 < nmaps && maps[i].start != (uintptr_t)map)
		i++;
	nmaps--;
	maps[i] = maps[nmaps];
	munmap((void *)(uintptr_t)map, size);
}

bool mapped_shrank(void)
{
	return shrank;
}
