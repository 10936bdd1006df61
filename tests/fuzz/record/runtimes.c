/*
 * State files of container runtimes: the same text at the place of each, in a folder of its own.
 */
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "../fuzz.h"
#include "containers/runtimes.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char *const places[] = {
	"containers/" ID "/config.v2.json",
	"overlay-containers/containers.json",
	"overlay-containers/" ID "/userdata/config.json",
	"runc1/state.json",
	"crun1/status",
	"io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
	"runc/moby/" ID "/state.json",
};

static char folder[] = "/tmp/nsprof-fuzz.XXXXXX";

static int drop(const char *path, const struct stat *st, int what, struct FTW *at)
{
	(void)st;
	(void)what;
	(void)at;
	return remove(path);
}

static void clean_up(void)
{
	nftw(folder, drop, 8, FTW_DEPTH | FTW_PHYS);
}

/* Returns the descriptor of the one file that has all those names. */
static int make(void)
{
	char path[512];
	int fd;

	if (!mkdtemp(folder))
		abort();
	atexit(clean_up);
	snprintf(path, sizeof(path), "%s/.text", folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char at[512];

		snprintf(at, sizeof(at), "%s/%s", folder, places[i]);
		for (char *s = at + sizeof(folder); (s = strchr(s, '/')); s++) {
			*s = '\0';
			mkdir(at, 0700);
			*s = '/';
		}
		if (link(path, at))
			abort();
	}
	return fd;
}

static void entry(void *ctx, const struct runtime_entry *e)
{
	(void)ctx;
	fuzz_read_text(e->id);
	fuzz_read_text(e->name);
	fuzz_read_text(e->image);
	fuzz_read_text(e->pod);
	fuzz_read_text(e->pod_ns);
	fuzz_read_text(e->pod_uid);
	fuzz_read_text(e->cgroup);
	fuzz_read_text(e->bundle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int text = -1, dirfd;

	if (text < 0) {
		text = make();
		dirfd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (ftruncate(text, 0) || pwrite(text, data, size, 0) != (ssize_t)size)
		abort();
	runtimes_scan(dirfd, NULL, entry, NULL);
	runtimes_scan(dirfd, ID, entry, NULL);
	return 0;
}
