/*
 * A tenant that makes a recorder of all processes work without end.
 *
 *	flood SECONDS KIND [FOLDER]
 *
 * KIND is what it makes as fast as it can:
 *	paths	mappings of one file, each under a new path of nearly 4 KiB
 *	files	mappings of new files that look like binaries
 *	again	the same mapping, made and removed
 *	maps	mappings that stay
 *	names	thread names
 *	threads	threads with names that end at once
 *	forks	processes that end at once
 *	execs	processes that run a program
 *	cgroups	cgroups below FOLDER, which is one
 * Files are made below FOLDER, which must exist and is left empty. Prints "ready" when the flood
 * has begun, and at the end how many it made.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 19
#define NAME_LEN 200

static const char *folder = "/tmp";
static uint64_t count;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Text without a pattern, so that no compression makes it small. */
static void random_name(char *to, size_t len)
{
	for (size_t i = 0; i < len; i++)
		to[i] = (char)('a' + rand() % 26);
	to[len] = '\0';
}

static int new_binary(int dir, const char *name)
{
	int fd = openat(dir, name, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0755);

	if (fd < 0 || write(fd, "\177ELF\2\1\1", 7) != 7 || ftruncate(fd, 4096))
		fail(name);
	return fd;
}

static void *map_code(int fd, long page)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, page * 4096);
}

/* ---- what it can make ---- */

static char top[4096];
static int held;

/* A file below so many folders that a rename of the first changes a path of nearly 4 KiB. */
static void begin_paths(void)
{
	char name[NAME_LEN + 1];
	int dir;

	snprintf(top, sizeof(top), "%s/flood.%d", folder, (int)getpid());
	if (mkdir(top, 0755))
		fail(top);
	dir = open(top, O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < DEPTH; i++) {
		int next;

		random_name(name, NAME_LEN);
		if (mkdirat(dir, name, 0755))
			fail("mkdirat");
		next = openat(dir, name, O_RDONLY | O_DIRECTORY);
		close(dir);
		dir = next;
	}
	held = new_binary(dir, "f");
	close(dir);
}

static void make_path(void)
{
	char to[4096];

	snprintf(to, sizeof(to), "%s/flood.%d.%llu", folder, (int)getpid(), (unsigned long long)count);
	if (rename(top, to))
		fail("rename");
	strcpy(top, to);
	munmap(map_code(held, 0), 4096);
}

static void end_paths(void)
{
	char command[5000];

	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	if (system(command))
		exit(1);
}

static void make_file(void)
{
	char name[4096];
	void *code;
	int fd;

	snprintf(name, sizeof(name), "%s/flood.%d.%llu", folder, (int)getpid(), (unsigned long long)count);
	fd = new_binary(AT_FDCWD, name);
	code = map_code(fd, 0);
	unlink(name);
	munmap(code, 4096);
	close(fd);
}

static void begin_maps(void)
{
	held = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

static void make_again(void)
{
	munmap(map_code(held, 0), 4096);
}

/* The kernel joins neighbours that continue each other; these do not. */
static void make_map(void)
{
	map_code(count % 2 ? -1 : held, (long)(count / 2 % 2));
}

static void make_name(void)
{
	char name[16];

	snprintf(name, sizeof(name), "%lx", (unsigned long)(count * 2654435761u));
	prctl(PR_SET_NAME, name);
}

static void *run_thread(void *arg)
{
	make_name();
	return arg;
}

static void make_thread(void)
{
	pthread_t t;

	if (!pthread_create(&t, NULL, run_thread, NULL))
		pthread_join(t, NULL);
}

static void make_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void make_exec(void)
{
	pid_t pid = vfork();

	if (!pid) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static void make_cgroup(void)
{
	char name[4096], random[NAME_LEN + 1];

	random_name(random, NAME_LEN);
	snprintf(name, sizeof(name), "%s/%s", folder, random);
	if (mkdir(name, 0755) || rmdir(name))
		fail(name);
}

static void nothing(void)
{
}

static const struct {
	const char *name;
	void (*begin)(void), (*make)(void), (*end)(void);
} kinds[] = {
	{ "paths", begin_paths, make_path, end_paths },
	{ "files", nothing, make_file, nothing },
	{ "again", begin_maps, make_again, nothing },
	{ "maps", begin_maps, make_map, nothing },
	{ "names", nothing, make_name, nothing },
	{ "threads", nothing, make_thread, nothing },
	{ "forks", nothing, make_fork, nothing },
	{ "execs", nothing, make_exec, nothing },
	{ "cgroups", nothing, make_cgroup, nothing },
};

int main(int argc, char **argv)
{
	double until;
	size_t k = 0;

	if (argc < 3)
		return 2;
	if (argc > 3)
		folder = argv[3];
	while (k < sizeof(kinds) / sizeof(*kinds) && strcmp(kinds[k].name, argv[2]))
		k++;
	if (k == sizeof(kinds) / sizeof(*kinds))
		return 2;
	srand((unsigned int)getpid());
	kinds[k].begin();
	puts("ready");
	fflush(stdout);
	for (until = now() + atof(argv[1]); now() < until; count++)
		kinds[k].make();
	kinds[k].end();
	printf("%llu %s\n", (unsigned long long)count, argv[2]);
	return 0;
}
