/* memfd FILE NAME ARGV0 [ARG...]: runs a copy of FILE that exists only in a memfd called NAME. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
	static char buf[65536];
	int from = open(argv[1], O_RDONLY), to;
	ssize_t n;

	to = argc > 3 ? memfd_create(argv[2], 0) : -1;
	if (from < 0 || to < 0)
		return 2;
	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (write(to, buf, (size_t)n) != n)
			return 2;
	close(from);
	fexecve(to, argv + 3, environ);
	return 2;
}
