/*
 * A process whose first thread has ended while others live on: everything about it is still found.
 */
#include <fcntl.h>
#include <pthread.h>

#include "proctab_fixture.h"

struct headless {
	pid_t pid;
	int ready, go;
};

static void *outlive(void *arg)
{
	const struct headless *h = arg;
	char path[64], stat[256] = "";
	ssize_t n = 1;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", h->pid);
	while (n > 0 && !strstr(stat, ") Z ")) {
		int fd = open(path, O_RDONLY);

		n = read(fd, stat, sizeof(stat) - 1);
		close(fd);
	}
	if (n > 0)
		wait_here(h->ready, h->go);
	return NULL;
}

static void headless_child(int ready, int go, void *arg)
{
	static struct headless h;
	pthread_t thread;

	(void)arg;
	h = (struct headless){ getpid(), ready, go };
	if (!pthread_create(&thread, NULL, outlive, &h))
		pthread_exit(NULL);
}

/*
 * After the first thread has ended, /proc/PID shows no memory, root or namespaces; the other
 * threads' folders do.
 */
static void test_first_thread_ended(void **state)
{
	struct child c = start(headless_child, NULL);
	const uint32_t pid = (uint32_t)c.pid;
	char own[256] = "", line[64];
	bool self = false;

	(void)state;
	assert_int_equal(proctab_read(pt, pid, now()), 0);
	assert_non_null(proctab_sampled(pt, pid, pid + 1, now()));
	stop_child(&c);
	read_back();
	assert_int_equal(got.nproc, 1);
	assert_int_equal(got.proc[0].pid, pid);
	assert_true(got.proc[0].maps_known);
	assert_true(readlink("/proc/self/ns/mnt", own, sizeof(own) - 1) > 0);
	snprintf(line, sizeof(line), "mnt:[%llu]", (unsigned long long)got.proc[0].mnt_ns);
	assert_string_equal(line, own);
	memset(own, 0, sizeof(own));
	assert_true(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	assert_string_equal(got.exe[0], own);
	for (uint32_t i = 0; i < got.nmmap; i++) {
		const struct got_mmap *m = &got.mmap[i];

		if ((uintptr_t)test_first_thread_ended - m->ev.start >= m->ev.len)
			continue;
		self = true;
		assert_string_equal(m->path, own);
		assert_true(m->ev.dso > 0);
		assert_true(got.dso[m->ev.dso - 1].ev.build_id_len > 0);
	}
	assert_true(self);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_first_thread_ended),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
