/*
 * Where runtimes keep their state: from real command lines, from mounts as the kernel lists them,
 * and from settings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "containers/state_hints.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void note_mount(void *ctx, const struct proc_mount *m)
{
	char dir[256];

	if (state_hint_mount(m, dir, sizeof(dir)))
		strbuf_addf(ctx, "%s ", dir);
	else if (state_hint_overlay(m, dir, sizeof(dir)))
		strbuf_addf(ctx, "own:%s ", dir);
	else
		strbuf_adds(ctx, "- ");
}

static void check_mounts(const char *text, const char *want)
{
	struct strbuf got = STRBUF_INIT;
	char copy[4096];

	snprintf(copy, sizeof(copy), "%s", text);
	procfs_mountinfo(copy, note_mount, &got);
	assert_string_equal(got.s, want);
	strbuf_fini(&got);
}

static void test_mounts(void **state)
{
	(void)state;
	check_mounts("23 29 0:21 / /proc rw,nosuid - proc proc rw\n", "- ");
	/*
	 * docker: a container's root and its shared memory; with user namespaces one directory
	 * deeper
	 */
	check_mounts("80 29 0:50 / /data/docker/overlay2/" ID "/merged rw,relatime shared:4 - overlay overlay rw,lowerdir=/x:/y,upperdir=/u\n"
		     "81 29 0:51 / /srv/a\\040b/containers/" ID "/mounts/shm rw - tmpfs shm rw,size=65536k\n"
		     "82 29 0:52 / /d/165536.165536/overlay2/" ID "/merged rw - overlay overlay rw\n",
		     "/data/docker /srv/a b /d/165536.165536 ");
	/* podman and CRI-O; containerd, k3s, microk8s */
	check_mounts("80 29 0:50 / /data/storage/overlay/" ID "/merged rw - overlay overlay rw\n"
		     "81 29 0:51 / /data/run/overlay-containers/" ID "/userdata/shm rw - tmpfs shm rw\n"
		     "82 29 0:52 / /run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/rootfs rw - overlay overlay rw\n",
		     "/data/storage /data/run /run/k3s/containerd ");
	/* docker with containerd's image store */
	check_mounts("80 29 0:50 / /data/docker/rootfs/overlayfs/" ID " rw - overlay overlay rw\n"
		     "81 29 0:51 / /data/rootfs/x/0123 rw - overlay overlay rw\n"
		     "82 29 0:52 / /rootfs/overlayfs/" ID " rw - overlay overlay rw\n"
		     "83 29 0:53 / / rw - overlay overlay rw,upperdir=/data/d/containerd/daemon/io.containerd.snapshotter.v1.overlayfs/snapshots/7/fs\n"
		     "84 29 0:54 / / rw - overlay overlay rw,upperdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/7/fs\n",
		     "/data/docker - - own:/data/d - ");
	/* A user's own file system, and paths that only look alike. */
	check_mounts("80 29 0:50 / /home/u/containers/" ID "/x rw - fuse.sshfs host: rw\n"
		     "81 29 0:51 / /data/containers/0123/x rw - tmpfs shm rw\n"
		     "82 29 0:52 / /data/mycontainers/" ID "/x rw - tmpfs shm rw\n"
		     "83 29 0:53 / /data/overlay3/" ID "/merged rw - overlay overlay rw\n"
		     "84 29 0:54 / /overlay2/" ID "/merged rw - overlay overlay rw\n"
		     "85 29 malformed\n",
		     "- - - - - ");
	/* The container's own view of its root. */
	check_mounts("80 29 0:50 / / rw - overlay overlay rw,lowerdir=/data/docker/overlay2/l/A:/data/docker/overlay2/l/B,"
		     "upperdir=/data/d\\054e/overlay2/" ID "/diff,workdir=/data/d/overlay2/" ID "/work\n"
		     "81 80 0:51 / /x rw - overlay overlay rw,upperdir=/data/docker/overlay2/" ID "/diff\n"
		     "82 80 0:52 / / rw - overlay overlay rw,upperdir=overlay2/" ID "/diff\n"
		     "83 80 0:53 / / rw - overlay overlay rw,lowerdir=/a\n",
		     "own:/data/d,e - - - ");
}

static void note_arg(void *ctx, enum state_hint what, const char *path)
{
	static const char *const kinds[] = { "", "json:", "toml:" };

	strbuf_addf(ctx, "%s%s ", kinds[what], path);
}

#define check_args(name, want, ...) do { \
		const char *const args[] = { __VA_ARGS__ }; \
		struct strbuf got = STRBUF_INIT; \
		strbuf_adds(&got, ""); \
		assert_true(state_hint_args(name, args, ARRAY_SIZE(args), note_arg, &got)); \
		assert_string_equal(got.s, want); \
		strbuf_fini(&got); \
	} while (0)

static void test_command_lines(void **state)
{
	(void)state;
	check_args("dockerd", "/data/docker ", "/usr/sbin/dockerd", "-H", "fd://", "--data-root", "/data/docker");
	check_args("dockerd", "/data/docker ", "dockerd", "--data-root=/data/docker", "--data-root");
	check_args("dockerd", "/a /b /c ", "dockerd", "-g", "/a", "--graph=/b", "-g/c");
	check_args("dockerd", "/e/containerd/daemon /e/runtime-runc/moby json:rel/daemon.json ", "dockerd", "--exec-root", "/e",
		   "--config-file=rel/daemon.json", "--data-root-not", "/x");
	check_args("containerd", "toml:/var/run/docker/containerd/containerd.toml ", "containerd", "--config",
		   "/var/run/docker/containerd/containerd.toml", "--log-level", "info");
	check_args("containerd", "/s toml:/c ", "containerd", "--root", "/r", "--state", "/s", "-c", "/c");
	check_args("conmon", "/data/root /data/run ", "/usr/bin/conmon", "--api-version", "1", "-c", ID, "-u", ID, "-r", "/usr/bin/crun",
		   "-b", "/data/root/overlay-containers/" ID "/userdata", "-p", "/data/run/overlay-containers/" ID "/userdata/pidfile",
		   "-n", "web", "--exit-command-arg", "--root");
	check_args("crio", "/r /rr ", "crio", "--root=/r", "--runroot", "/rr");
	check_args("podman", "/r ", "podman", "--root", "/r", "system", "service");
	assert_true(state_hint_is_runtime("containerd-shim"));
	assert_false(state_hint_is_runtime("nginx"));
	{
		char dir[64];

		assert_true(state_hint_bundle("/run/c/io.containerd.runtime.v2.task/moby/" ID, dir, sizeof(dir)));
		assert_string_equal(dir, "/run/c");
		assert_false(state_hint_bundle("/run/c", dir, sizeof(dir)));
		assert_true(state_hint_bundle("/data/s/overlay-containers/" ID "/userdata", dir, sizeof(dir)));
		assert_string_equal(dir, "/data/s");
	}
}

static void test_toml(void **state)
{
	static const char text[] =
		"# root = \"/no\"\nversion = 2\n  state = '/run/c d' # as \"/x\"\nstatement = \"/no\"\n"
		"[storage]\ndriver = \"overlay\"\n# graphroot = \"/old\"\ngraphroot=\"/data/\\\"q\\\\\"\n"
		"[storage.options]\nrunroot = \"/no\"\n[ storage ]\nrunroot = \"/run/s\"\nopen = \"/no\n";
	char out[64];

	(void)state;
	assert_true(state_toml(text, "", "state", out, sizeof(out)));
	assert_string_equal(out, "/run/c d");
	assert_false(state_toml(text, "", "root", out, sizeof(out)));
	assert_true(state_toml(text, "storage", "graphroot", out, sizeof(out)));
	assert_string_equal(out, "/data/\"q\\");
	assert_true(state_toml(text, "storage", "runroot", out, sizeof(out)));
	assert_string_equal(out, "/run/s");
	assert_false(state_toml(text, "storage", "open", out, sizeof(out)));
	assert_false(state_toml(text, "storage", "version", out, sizeof(out)));
	assert_false(state_toml(text, "storage", "graphroot", out, 4));
	assert_false(state_toml("", "", "x", out, sizeof(out)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_command_lines),
		cmocka_unit_test(test_toml),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
