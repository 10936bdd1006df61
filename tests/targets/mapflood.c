/*
 * Fills the rings of a recorder with mappings: mapflood DIR SECS. Each of them has another path of
 * almost 4 KiB, below the folder DIR. The program removes what it made.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 19
#define NAME 200	/* DEPTH of them fit into PATH_MAX, with DIR */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	const double end = now() + (argc > 2 ? atof(argv[2]) : 0);
	char name[NAME + 1], top[32], next[32];
	int dir[DEPTH + 1], fd;
	unsigned long n = 0;

	if (argc < 3 || chdir(argv[1]))
		return 2;
	memset(name, 'x', NAME);
	name[NAME] = '\0';
	snprintf(top, sizeof(top), "%d.0", getpid());
	if (mkdir(top, 0755))
		return 1;
	dir[0] = open(top, O_PATH | O_DIRECTORY);
	for (int i = 0; i < DEPTH; i++) {
		mkdirat(dir[i], name, 0755);
		dir[i + 1] = openat(dir[i], name, O_PATH | O_DIRECTORY);
	}
	fd = openat(dir[DEPTH], "f", O_CREAT | O_RDWR, 0755);
	if (fd < 0 || ftruncate(fd, 4096))
		return 1;
	while (now() < end) {
		void *p;

		snprintf(next, sizeof(next), "%d.%lu", getpid(), ++n);
		if (rename(top, next))
			return 1;
		memcpy(top, next, sizeof(top));
		p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED)
			return 1;
		munmap(p, 4096);
	}
	unlinkat(dir[DEPTH], "f", 0);
	for (int i = DEPTH; i-- > 0;)
		unlinkat(dir[i], name, AT_REMOVEDIR);
	rmdir(top);
	printf("%lu\n", n);
	return 0;
}
