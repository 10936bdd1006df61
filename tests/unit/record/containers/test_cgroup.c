/*
 * Which mount is the perf_event hierarchy, and which cgroup contains which. Mount tables as on real
 * hosts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "containers/cgroup.h"
#include "evlist/evsel.h"
#include "events/refusal.h"
#include "events/target.h"
#include "in_range.h"

static void expect(const char *mountinfo, const char *mount, bool v2)
{
	struct cgroup_fs fs = { .fd = -1 };

	assert_int_equal(cgroup_fs_parse(&fs, mountinfo), 0);
	assert_string_equal(fs.mount, mount);
	assert_int_equal(fs.v2, v2);
}

static void plain_v2(void **state)
{
	(void)state;
	expect("24 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
	       "33 23 0:28 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 "
	       "cgroup2 rw,nsdelegate,memory_recursiveprot\n",
	       "/sys/fs/cgroup", true);
}

static void hybrid(void **state)
{
	(void)state;
	/* perf_event is implicit on v2 as long as no v1 mount has it. */
	expect("31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
	       "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
	       "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
	       "/sys/fs/cgroup/unified", true);
}

static void v1_takes_it(void **state)
{
	(void)state;
	/* Whichever comes first. */
	expect("41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
	       "35 31 0:32 / /sys/fs/cgroup/perf_event rw,relatime shared:12 - cgroup cgroup "
	       "rw,perf_event\n",
	       "/sys/fs/cgroup/perf_event", false);
	expect("35 31 0:32 / /sys/fs/cgroup/net rw,relatime shared:12 - cgroup cgroup "
	       "rw,net_cls,perf_event\n"
	       "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
	       "/sys/fs/cgroup/net", false);
	/* A longer word is a different option, and so is one of another file system. */
	expect("35 31 0:32 / /a rw - cgroup cgroup rw,name=perf_event\n"
	       "36 31 0:32 / /b rw - cgroup cgroup rw,perf_eventx\n"
	       "37 31 0:32 / /c rw - tmpfs tmpfs rw,perf_event\n"
	       "41 31 0:38 / /d rw - cgroup2 none rw\n", "/d", true);
}

static void best_root(void **state)
{
	(void)state;
	/* A container's view: a part of the hierarchy, until the whole is mounted elsewhere. */
	expect("700 650 0:28 /docker/3f /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "/sys/fs/cgroup",
	       true);
	expect("700 650 0:28 /docker/3f /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
	       "701 650 0:28 / /host/cgroup ro master:3 shared:4 - cgroup2 cgroup rw\n",
	       "/host/cgroup", true);
	/* With a cgroup namespace: cgroup_namespaces(7), "the root directory ... of mount points". */
	expect("700 650 0:28 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
	       "701 650 0:28 /../.. /host/cgroup ro - cgroup2 cgroup rw\n"
	       "702 650 0:28 /.. /host/pod ro - cgroup2 cgroup rw\n",
	       "/host/cgroup", true);
	/* Another branch of the tree, and a name that only has the same prefix. */
	expect("701 650 0:28 /../other /sibling ro - cgroup2 cgroup rw\n"
	       "702 650 0:28 /..x /odd ro - cgroup2 cgroup rw\n"
	       "700 650 0:28 / /own ro - cgroup2 cgroup rw\n", "/own", true);
	/* The highest root in the wrong hierarchy does not count. */
	expect("700 650 0:28 /../../../.. /v2 ro - cgroup2 cgroup rw\n"
	       "701 650 0:30 /docker/3f /v1 ro - cgroup cgroup rw,perf_event\n", "/v1", false);
	/* Of two equal mounts the first one counts. */
	expect("33 23 0:28 / /one rw - cgroup2 cgroup2 rw\n34 23 0:28 / /two rw - cgroup2 cgroup2 "
	       "rw\n",
	       "/one", true);
}

static void escapes(void **state)
{
	(void)state;
	expect("33 23 0:28 / /mnt/my\\040cg\\134x rw - cgroup2 cgroup2 rw\n", "/mnt/my cg\\x",
	       true);
	/* A truncated escape is plain text. */
	expect("33 23 0:28 / /mnt/a\\04 rw - cgroup2 cgroup2 rw\n", "/mnt/a\\04", true);
}

static void none(void **state)
{
	static const char *const bad[] = {
		"",
		"\n\n",
		"24 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n",
		"33 23 0:28 / /sys/fs/cgroup rw - cgroup2\n",		/* truncated */
		"33 23 0:28 / - cgroup2 cgroup2 rw\n",
		"cgroup2 cgroup2 rw\n",
		" - cgroup2 cgroup2 rw",
	};
	struct cgroup_fs fs;
	char *line = malloc(3 * PATH_MAX);

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cgroup_fs_parse(&fs, bad[i]), -ENOENT);
	/* A mount point longer than any path may be. */
	memset(line, 'x', 3 * PATH_MAX);
	memcpy(line, "33 23 0:28 / /", 14);
	snprintf(line + 2 * PATH_MAX, 64, " rw - cgroup2 cgroup2 rw\n");
	assert_int_equal(cgroup_fs_parse(&fs, line), -ENOENT);
	free(line);
}

struct found {
	uint64_t ids[8];
	char paths[8][64];
	int n;
	uint32_t pids[8];
	int npids;
};

static void on_group(void *ctx, uint64_t id, const char *path)
{
	struct found *f = ctx;

	assert_within(f->n, 0, 7);
	f->ids[f->n] = id;
	snprintf(f->paths[f->n++], 64, "%s", path);
}

static void on_proc(void *ctx, uint32_t pid)
{
	struct found *f = ctx;

	assert_within(f->npids, 0, 7);
	f->pids[f->npids++] = pid;
}

/* On the machine's own hierarchy: nested cgroups, one of which has a process. */
static void real(void **state)
{
	struct target target = { .kind = TARGET_CGROUPS };
	struct strbuf said = STRBUF_INIT;
	struct evsel sel = { .name = "cpu-clock" };
	char dir[PATH_MAX + 64], sub[PATH_MAX + 96], below[PATH_MAX + 128], file[PATH_MAX + 128];
	char name[64], path[PATH_MAX];
	struct found f = { .n = 0 };
	struct cgroup_fs fs;
	struct cgroup cg;
	struct stat st;
	int fd, go[2], pid;
	char c;

	(void)state;
	if (cgroup_fs_open(&fs)) {
		print_message("# no cgroup file system here\n");
		skip();
	}
	snprintf(name, sizeof(name), "nsprof-test-%d", (int)getpid());
	snprintf(dir, sizeof(dir), "%s/%s", fs.mount, name);
	snprintf(sub, sizeof(sub), "%s/inner", dir);
	if (mkdir(dir, 0755)) {
		print_message("# no cgroup can be made here: %s\n", strerror(errno));
		cgroup_fs_close(&fs);
		skip();
	}
	assert_int_equal(mkdir(sub, 0755), 0);
	snprintf(below, sizeof(below), "%s/below", sub);
	assert_int_equal(mkdir(below, 0755), 0);
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid) {
		close(go[1]);
		_exit(read(go[0], &c, 1) != 0);
	}
	snprintf(file, sizeof(file), "%s/cgroup.procs", sub);
	fd = open(file, O_WRONLY);
	dprintf(fd, "%d\n", pid);
	close(fd);

	assert_int_equal(cgroup_find(&cg, &fs, name), 0);
	assert_string_equal(cg.path, dir + strlen(fs.mount));
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(cg.id, st.st_ino);
	assert_int_equal(cgroup_path_by_id(&fs, cg.id, path, sizeof(path)), 0);
	assert_string_equal(path, cg.path);
	assert_int_not_equal(cgroup_path_by_id(&fs, 0x7fffffffffff, path, sizeof(path)), 0);
	cgroup_walk(&cg, on_group, on_proc, &f);
	assert_int_equal(f.n, 3);
	assert_string_equal(f.paths[0], cg.path);
	assert_string_equal(f.paths[1], sub + strlen(fs.mount));
	assert_int_equal(stat(sub, &st), 0);
	assert_int_equal(f.ids[1], st.st_ino);
	assert_string_equal(f.paths[2], below + strlen(fs.mount));
	assert_int_equal(stat(below, &st), 0);
	assert_int_equal(f.ids[2], st.st_ino);
	assert_int_equal(f.npids, 1);
	assert_int_equal(f.pids[0], pid);
	cgroup_fini(&cg);

	/* The other spellings find the same cgroup. */
	snprintf(path, sizeof(path), "/%s/", name);
	assert_int_equal(cgroup_find(&cg, &fs, path), 0);
	assert_string_equal(cg.path, dir + strlen(fs.mount));
	cgroup_fini(&cg);
	assert_int_equal(cgroup_find(&cg, &fs, dir), 0);
	assert_string_equal(cg.path, dir + strlen(fs.mount));
	cgroup_fini(&cg);
	snprintf(path, sizeof(path), "%s/./inner/../inner//below", name);
	assert_int_equal(cgroup_find(&cg, &fs, path), 0);
	assert_string_equal(cg.path, below + strlen(fs.mount));
	assert_int_equal(cg.id, st.st_ino);

	/* Removed, and another cgroup created at that path. */
	close(go[1]);
	waitpid(pid, NULL, 0);
	close(go[0]);
	assert_false(cgroup_removed(&cg));
	assert_int_equal(rmdir(below), 0);
	assert_true(cgroup_removed(&cg));
	/* The message when that happens between finding the cgroup and opening its events. */
	log_divert(&said);
	refusal_explain_cgroup(-ENOENT, &sel, &target, &cg, 0, 1);
	log_divert(NULL);
	assert_non_null(strstr(said.s, "No such file or directory: it was removed a moment ago"));
	strbuf_fini(&said);
	cg.gone = true;
	assert_int_equal(cgroup_reopen(&cg, &fs), -ENOENT);
	assert_true(cg.gone && cgroup_removed(&cg) && cg.id == st.st_ino);
	assert_int_equal(mkdir(below, 0755), 0);
	assert_true(cgroup_removed(&cg));
	assert_int_equal(cgroup_reopen(&cg, &fs), 0);
	assert_false(cg.gone || cgroup_removed(&cg));
	assert_int_equal(stat(below, &st), 0);
	assert_int_equal(cg.id, st.st_ino);
	assert_string_equal(cg.path, below + strlen(fs.mount));
	cgroup_fini(&cg);
	assert_int_equal(rmdir(below), 0);
	assert_int_equal(rmdir(sub), 0);
	assert_int_equal(rmdir(dir), 0);
	cgroup_fs_close(&fs);
}

static int cmp(const void *a, const void *b)
{
	return cgroup_path_cmp(((const struct cgroup *)a)->path,
			       ((const struct cgroup *)b)->path);
}

/* Names that are prefixes of each other, continued by characters that sort before and after '/'. */
static void in_list(void **state)
{
	struct cgroup list[] = {
		{ .path = (char *)"/a-b" }, { .path = (char *)"/a.b/c" }, { .path = (char *)"/a" },
		{ .path = (char *)"/b/c" }, { .path = (char *)"/a0" }, { .path = (char *)"/\xc3\xa4" },
	};
	static const char *const in[] = {
		"/a", "/a/x", "/a/-", "/a-b", "/a-b/x", "/a.b/c", "/a.b/c/d/e", "/b/c", "/b/c/zz",
		"/a0", "/a0/0", "/\xc3\xa4/x",
	};
	static const char *const out[] = {
		"/", "", "/a-", "/a-bc", "/a.b", "/a.b/cc", "/a.b/d", "/b", "/b/d", "/b/cc", "/c",
		"/a00", "/\xc3", "/A",
	};
	struct cgroup_list all = { list, sizeof(list) / sizeof(list[0]) };

	(void)state;
	qsort(list, all.n, sizeof(list[0]), cmp);
	assert_string_equal(list[0].path, "/a");
	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
		assert_non_null(cgroup_list_find(&all, in[i]));
	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++)
		assert_null(cgroup_list_find(&all, out[i]));
	/* The position of a path, or where it would be inserted. */
	for (size_t i = 0; i < all.n; i++)
		assert_int_equal(cgroup_list_at(&all, list[i].path), i);
	assert_int_equal(cgroup_list_at(&all, ""), 0);
	assert_int_equal(cgroup_list_at(&all, "/a/x"), 1);
	assert_int_equal(cgroup_list_at(&all, "/\xff"), all.n);
	list[0].path = (char *)"/";
	all.n = 1;
	assert_true(cgroup_list_find(&all, "/") && cgroup_list_find(&all, "/x/y"));
	all.n = 0;
	assert_null(cgroup_list_find(&all, "/"));
	assert_true(cgroup_path_cmp("/a/x", "/a-b") < 0 && cgroup_path_cmp("/a-b", "/a/x") > 0);
	assert_true(cgroup_path_cmp("/a", "/a/x") < 0 && !cgroup_path_cmp("/a/x", "/a/x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_v2),
		cmocka_unit_test(hybrid),
		cmocka_unit_test(v1_takes_it),
		cmocka_unit_test(best_root),
		cmocka_unit_test(escapes),
		cmocka_unit_test(none),
		cmocka_unit_test(in_list),
		cmocka_unit_test(real),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
