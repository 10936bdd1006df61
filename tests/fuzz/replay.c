/*
 * Feeds a harness with the files of folders, without libFuzzer: any compiler with sanitizers will
 * do. "replay HARNESS FOLDER..." prints how many inputs there were. If an input ends the program,
 * the last line on stderr names it. The harness is the function fuzz_HARNESS(), see the Makefile.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/stat.h>

#include "fuzz.h"

/* An input that takes longer hangs: the slowest stored one takes 0.2 s. */
#define INPUT_SECONDS 60

static int (*harness)(const uint8_t *data, size_t size);
static char present[PATH_MAX];	/* the input being read */

static void name_input(void)
{
	dprintf(STDERR_FILENO, "replay: this was '%s'\n", present);
}

static void feed_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *data;

	if (fd < 0 || fstat(fd, &st)) {
		dprintf(STDERR_FILENO, "replay: cannot read '%s'\n", path);
		exit(2);
	}
	data = xmalloc(st.st_size ? (size_t)st.st_size : 1);
	if (read(fd, data, (size_t)st.st_size) != st.st_size)
		exit(2);
	close(fd);
	snprintf(present, sizeof(present), "%s", path);
	alarm(INPUT_SECONDS);
	harness(data, (size_t)st.st_size);
	alarm(0);
	free(data);
}

static unsigned int feed_folder(const char *folder)
{
	struct dirent **names;
	int n = scandir(folder, &names, NULL, alphasort);
	unsigned int fed = 0;

	for (int i = 0; i < n; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
		if (names[i]->d_name[0] != '.') {
			feed_file(path);
			fed++;
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return fed;
}

int main(int argc, char **argv)
{
	int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char name[64];
	unsigned int fed = 0;

	snprintf(name, sizeof(name), "fuzz_%s", argc > 1 ? argv[1] : "");
	*(void **)&harness = dlsym(RTLD_DEFAULT, name);
	if (!harness) {
		dprintf(STDERR_FILENO, "usage: replay HARNESS FOLDER...\n");
		return 2;
	}
	__sanitizer_set_death_callback(name_input);
	dup2(null, STDOUT_FILENO);	/* --help of command lines */
	LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 2; i < argc; i++)
		fed += feed_folder(argv[i]);
	dprintf(out, "%u\n", fed);
	return 0;
}
