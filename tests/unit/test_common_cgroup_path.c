/* Cgroup paths as the runtimes' cgroup managers build them, and others that only look alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cgroup_path.h"
#include "util.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define POD "7e1b3c5d-0001-4222-8333-abcdefabcdef"
#define POD_ "7e1b3c5d_0001_4222_8333_abcdefabcdef"

struct want {
	const char *path, *runtime, *id, *own, *uid, *pod;
	bool named;
};

static const struct want containers[] = {
	/* docker, cgroupfs and systemd */
	{ "/docker/" ID, "docker", ID, "/docker/" ID, "", "", false },
	{ "/system.slice/docker-" ID ".scope/init.scope", "docker", ID,
	  "/system.slice/docker-" ID ".scope", "", "", false },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope", "docker", ID,
	  "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope", "", "", false },
	/* podman: root with and without systemd, in a pod, rootless, crun's split */
	{ "/libpod_parent/libpod-" ID, "podman", ID, "/libpod_parent/libpod-" ID, "", "", false },
	{ "/machine.slice/libpod-" ID ".scope/container", "podman", ID,
	  "/machine.slice/libpod-" ID ".scope", "", "", false },
	{ "/machine.slice/machine-libpod_pod_" ID2 ".slice/libpod-" ID ".scope", "podman", ID,
	  "/machine.slice/machine-libpod_pod_" ID2 ".slice/libpod-" ID ".scope", "", "", false },
	/* Kubernetes: systemd and cgroupfs drivers, containerd and CRI-O, guaranteed class, a static pod */
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_ ".slice/cri-containerd-" ID ".scope",
	  "containerd", ID,
	  "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_ ".slice/cri-containerd-" ID ".scope",
	  POD, "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_ ".slice", false },
	{ "/kubepods/besteffort/pod" POD "/" ID, "", ID, "/kubepods/besteffort/pod" POD "/" ID, POD,
	  "/kubepods/besteffort/pod" POD, false },
	{ "/kubepods.slice/kubepods-pod" POD_ ".slice/crio-" ID ".scope", "cri-o", ID,
	  "/kubepods.slice/kubepods-pod" POD_ ".slice/crio-" ID ".scope", POD,
	  "/kubepods.slice/kubepods-pod" POD_ ".slice", false },
	{ "/kubepods/burstable/pod1234/abcd", "", "abcd", "/kubepods/burstable/pod1234/abcd", "1234",
	  "/kubepods/burstable/pod1234", false },
	/* containerd's runc with a cgroupfs path handed to systemd's driver */
	{ "/system.slice/containerd.service/kubepods-besteffort-pod" POD_ ".slice:cri-containerd:" ID, "containerd", ID,
	  "/system.slice/containerd.service/kubepods-besteffort-pod" POD_ ".slice:cri-containerd:" ID, "", "", false },
	/* a node of kind: a container in a container; the inner one counts */
	{ "/docker/" ID2 "/kubelet.slice/kubelet-kubepods.slice/cri-containerd-" ID ".scope", "containerd", ID,
	  "/docker/" ID2 "/kubelet.slice/kubelet-kubepods.slice/cri-containerd-" ID ".scope", "", "", false },
	/* lxc 4 and later, before, nspawn's three */
	{ "/lxc.payload.web1", "lxc", "web1", "/lxc.payload.web1", "", "", true },
	{ "/lxc/web1/init", "lxc", "web1", "/lxc/web1", "", "", true },
	{ "/machine.slice/machine-db\\x2done.scope/payload", "nspawn", "db\\x2done",
	  "/machine.slice/machine-db\\x2done.scope", "", "", true },
	{ "/machine.slice/systemd-nspawn@db.service/payload", "nspawn", "db",
	  "/machine.slice/systemd-nspawn@db.service", "", "", true },
	/* an id without a word about whose */
	{ "/default/" ID, "", ID, "/default/" ID, "", "", false },
};

static const char *const others[] = {
	"", "/", "/system.slice/docker.service", "/init.scope", "/user.slice/user-1000.slice/session-2.scope",
	"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", "/kubepods.slice", "/kubepods/burstable/pod" POD,
	"/system.slice/docker-" "0123.scope", "/x/" ID "0", "/lxc", "/lxc.monitor.web1",
	"/machine.slice/libpod-conmon-" ID ".scope/",
};

static void test_containers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(containers); i++) {
		const struct want *w = &containers[i];
		struct cgroup_path p;

		if (!cgroup_path_parse(w->path, &p))
			fail_msg("no container in %s", w->path);
		assert_string_equal(p.runtime, w->runtime);
		assert_int_equal(p.id_len, strlen(w->id));
		assert_memory_equal(p.id, w->id, p.id_len);
		assert_int_equal(p.own_len, strlen(w->own));
		assert_memory_equal(w->path, w->own, p.own_len);
		assert_string_equal(p.pod_uid, w->uid);
		assert_int_equal(p.pod_len, strlen(w->pod));
		assert_memory_equal(w->path, w->pod, p.pod_len);
		assert_int_equal(p.named, w->named);
		assert_false(cgroup_path_is_helper(w->path));
	}
}

static void test_others(void **state)
{
	struct cgroup_path p;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (cgroup_path_parse(others[i], &p))
			fail_msg("a container in %s", others[i]);
	/* A pod's own cgroup is known as such, though no container is in its path. */
	assert_false(cgroup_path_parse("/kubepods/burstable/pod" POD, &p));
	assert_string_equal(p.pod_uid, POD);
}

static void test_helpers(void **state)
{
	(void)state;
	assert_true(cgroup_path_is_helper("/machine.slice/libpod-conmon-" ID ".scope"));
	assert_true(cgroup_path_is_helper("/system.slice/crio-conmon-" ID ".scope"));
	assert_true(cgroup_path_is_helper("/lxc.monitor.web1"));
	assert_false(cgroup_path_is_helper("/docker/" ID));
}

static void test_unescape(void **state)
{
	char out[16];

	(void)state;
	cgroup_path_unescape("db\\x2done", 9, out, sizeof(out));
	assert_string_equal(out, "db-one");
	cgroup_path_unescape("a\\x2", 4, out, sizeof(out));
	assert_string_equal(out, "a\\x2");
	cgroup_path_unescape("a\\xzz", 5, out, sizeof(out));
	assert_string_equal(out, "a\\xzz");
	cgroup_path_unescape("0123456789", 10, out, 4);
	assert_string_equal(out, "012");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_helpers),
		cmocka_unit_test(test_unescape),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
