/* Cgroup paths as the runtimes' cgroup managers build them, and paths that only look like them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "host/cgroup_path.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define POD "7e1b3c5d-0001-4222-8333-abcdefabcdef"
#define POD_ "7e1b3c5d_0001_4222_8333_abcdefabcdef"

#define KUBE_SLICE "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_ ".slice"

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
	/* a container that has made a cgroup with the name of a pod, below its own: in no pod */
	{ "/docker/" ID "/kubepods/pod" POD, "docker", ID, "/docker/" ID, "", "", false },
	/* containerd's runc with a cgroupfs path handed to systemd's driver */
	{ "/system.slice/containerd.service/kubepods-besteffort-pod" POD_ ".slice:cri-containerd:" ID, "containerd", ID,
	  "/system.slice/containerd.service/kubepods-besteffort-pod" POD_ ".slice:cri-containerd:" ID, "", "", false },
	/* a node of kind: a container within a container; the inner one counts */
	{ "/docker/" ID2 "/kubelet.slice/kubelet-kubepods.slice/cri-containerd-" ID ".scope", "containerd", ID,
	  "/docker/" ID2 "/kubelet.slice/kubelet-kubepods.slice/cri-containerd-" ID ".scope", "", "", false },
	/*
	 * CRI-O: cgroupfs in a pod and without a pod, crun's own cgroup below it, systemd without a
	 * pod
	 */
	{ "/kubepods/burstable/pod" POD "/crio-" ID, "cri-o", ID, "/kubepods/burstable/pod" POD "/crio-" ID, POD,
	  "/kubepods/burstable/pod" POD, false },
	{ "/crio/crio-" ID, "cri-o", ID, "/crio/crio-" ID, "", "", false },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_ ".slice/crio-" ID ".scope/container", "cri-o", ID,
	  "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_ ".slice/crio-" ID ".scope", POD,
	  "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_ ".slice", false },
	{ "/system.slice/crio-" ID ".scope", "cri-o", ID, "/system.slice/crio-" ID ".scope", "", "", false },
	/* kind: the kubelet with --cgroup-root, systemd and cgroupfs */
	{ "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" POD_
	  ".slice/cri-containerd-" ID ".scope", "containerd", ID,
	  "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" POD_
	  ".slice/cri-containerd-" ID ".scope", POD,
	  "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" POD_ ".slice",
	  false },
	{ "/kubelet/kubepods/burstable/pod" POD "/" ID, "", ID, "/kubelet/kubepods/burstable/pod" POD "/" ID, POD,
	  "/kubelet/kubepods/burstable/pod" POD, false },
	/*
	 * docker below another parent, with systemd's driver and in ECS; a podman quadlet; one of
	 * its pods with cgroupfs; nerdctl
	 */
	{ "/web.slice/docker-" ID ".scope", "docker", ID, "/web.slice/docker-" ID ".scope", "", "", false },
	{ "/ecs/0123456789abcdef0123456789abcdef/" ID, "", ID, "/ecs/0123456789abcdef0123456789abcdef/" ID, "", "", false },
	{ "/system.slice/web.service/libpod-payload-" ID, "podman", ID, "/system.slice/web.service/libpod-payload-" ID, "", "",
	  false },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/web.service/libpod-payload-" ID "/init.scope", "podman", ID,
	  "/user.slice/user-1000.slice/user@1000.service/app.slice/web.service/libpod-payload-" ID, "", "", false },
	{ "/system.slice/container-" ID ".service/libpod-payload-" ID, "podman", ID,
	  "/system.slice/container-" ID ".service/libpod-payload-" ID, "", "", false },
	{ "/libpod_parent/" ID2 "/libpod-" ID, "podman", ID, "/libpod_parent/" ID2 "/libpod-" ID, "", "", false },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/user-libpod_pod_" ID2 ".slice/libpod-" ID ".scope/container",
	  "podman", ID,
	  "/user.slice/user-1000.slice/user@1000.service/user.slice/user-libpod_pod_" ID2 ".slice/libpod-" ID ".scope", "", "",
	  false },
	{ "/system.slice/nerdctl-" ID ".scope", "containerd", ID, "/system.slice/nerdctl-" ID ".scope", "", "", false },
	/* helpers of a container within a container count as that container's */
	{ "/docker/" ID2 "/machine.slice/libpod-conmon-" ID ".scope", "docker", ID2, "/docker/" ID2, "", "", false },
	{ "/lxc.payload.node/system.slice/crio-conmon-" ID ".scope", "lxc", "node", "/lxc.payload.node", "", "", true },
	/* lxc 4 and later, lxc before 4, the three forms of nspawn */
	{ "/lxc.payload.web1", "lxc", "web1", "/lxc.payload.web1", "", "", true },
	{ "/lxc/web1/init", "lxc", "web1", "/lxc/web1", "", "", true },
	{ "/machine.slice/machine-db\\x2done.scope/payload", "nspawn", "db\\x2done",
	  "/machine.slice/machine-db\\x2done.scope", "", "", true },
	{ "/machine.slice/systemd-nspawn@db.service/payload", "nspawn", "db",
	  "/machine.slice/systemd-nspawn@db.service", "", "", true },
	/* an ID without a word that names the runtime */
	{ "/default/" ID, "", ID, "/default/" ID, "", "", false },
};

static const char *const others[] = {
	"", "/", "/system.slice/docker.service", "/init.scope", "/user.slice/user-1000.slice/session-2.scope",
	"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", "/kubepods.slice", "/kubepods/burstable/pod" POD,
	"/system.slice/docker-" "0123.scope", "/x/" ID "0", "/lxc", "/lxc.monitor.web1",
	"/machine.slice/libpod-conmon-" ID ".scope/",
	/* CRI-O: conmon in the pod's cgroup and in another, with both drivers; the cgroup of a pod without a pause process */
	KUBE_SLICE "/crio-conmon-" ID ".scope", "/kubepods/besteffort/pod" POD "/crio-conmon-" ID, "/crio/crio-conmon-" ID,
	"/system.slice/crio-conmon-" ID ".scope", KUBE_SLICE "/crio-" ID, KUBE_SLICE,
	/*
	 * podman: conmon with both drivers, of a pod, without root; pods; the other half of a
	 * quadlet; the process that keeps a user namespace
	 */
	"/libpod_parent/conmon", "/libpod_parent/" ID, "/libpod_parent/" ID "/conmon",
	"/machine.slice/machine-libpod_pod_" ID ".slice", "/machine.slice/machine-libpod_pod_" ID ".slice/libpod-conmon-" ID2 ".scope",
	"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-conmon-" ID ".scope",
	"/system.slice/web.service/runtime", "/user.slice/user-1000.slice/user@1000.service/user.slice/podman-pause-27a61b05.scope",
	/* podman's health checks, before 4.0 and later; what "podman generate systemd" wrote */
	"/system.slice/" ID ".service", "/system.slice/" ID ".timer", "/system.slice/" ID "-1a2b3c4d5e6f7081.service",
	"/user.slice/user-1000.slice/user@1000.service/app.slice/" ID "-1a2b3c4d5e6f7081.service",
	"/system.slice/container-" ID ".service", "/system.slice/pod-" ID ".service",
	/* docker: mounts, image builds, the daemons */
	"/system.slice/var-lib-docker-overlay2-" ID "-merged.mount", "/system.slice/run-docker-containerd-" ID ".mount",
	"/docker/buildkit/x2zq0a7m3l1r9v5c8b4n6k2j1", "/docker/buildkit", "/system.slice/containerd.service",
	"/system.slice/kubelet.service", "/podruntime.slice/crio.service",
	/*
	 * lxc: monitors of 4.0 and before, and the cgroup it moves itself to before it removes
	 * others; virtual machines
	 */
	"/lxc.monitor/101", "/lxc.pivot", "/machine.slice/machine-qemu\\x2d7\\x2dweb.scope/libvirt/emulator",
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
		/* The ID alone, where the name is one. */
		if (strlen(w->id) == 64)
			assert_ptr_equal(cgroup_path_id(w->path), p.id);
	}
}

static void test_others(void **state)
{
	struct cgroup_path p;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (cgroup_path_parse(others[i], &p))
			fail_msg("a container in %s", others[i]);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (cgroup_path_id(others[i]))
			fail_msg("an id in %s", others[i]);
	/* A pod's own cgroup is recognized, although its path contains no container. */
	assert_false(cgroup_path_parse("/kubepods/burstable/pod" POD, &p));
	assert_string_equal(p.pod_uid, POD);
}

static void test_ids(void **state)
{
	static const char path[] = "/a/" ID2 "/x-" ID ".scope/y";

	(void)state;
	assert_ptr_equal(cgroup_path_id(path), strstr(path, ID));
	assert_ptr_equal(cgroup_path_outer_id(path), strstr(path, ID2));
	assert_null(cgroup_path_outer_id("/a/" ID "0/x"));
	assert_null(cgroup_path_id("/a/" ID "0/x"));
	assert_null(cgroup_path_id(""));
}

/* A container may make any cgroup below its own. */
static void test_nested(void **state)
{
	static const char path[] = "/docker/" ID "/system.slice/docker-" ID2 ".scope/docker/" ID "/x";
	static const char pod[] = "/kubepods/burstable/pod1234/" ID "/lxc.payload.web";
	const size_t outer = strlen("/docker/" ID), inner = strlen("/docker/" ID "/system.slice/docker-" ID2 ".scope");
	struct cgroup_path p;

	(void)state;
	assert_true(cgroup_path_parse(path, &p));
	assert_int_equal(p.outer_len, inner);
	assert_int_equal(p.own_len, inner + outer);
	assert_int_equal(cgroup_path_outermost(path, ID, 0), outer);
	assert_int_equal(cgroup_path_outermost(path, ID, outer), inner + outer);
	assert_int_equal(cgroup_path_outermost(path, ID2, 0), inner);
	assert_int_equal(cgroup_path_outermost(path, NULL, 0), outer);
	assert_int_equal(cgroup_path_outermost(path, NULL, outer), inner);
	assert_int_equal(cgroup_path_outermost(path, "docker", 0), 0);
	assert_int_equal(cgroup_path_outermost("/system.slice", NULL, 0), 0);
	/* A pod is no container around its containers. */
	assert_true(cgroup_path_parse(pod, &p));
	assert_int_equal(p.outer_len, strlen("/kubepods/burstable/pod1234/" ID));
	assert_true(cgroup_path_parse("/kubepods/burstable/pod1234/" ID, &p));
	assert_int_equal(p.outer_len, 0);
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

static void test_within(void **state)
{
	(void)state;
	assert_true(cgroup_path_within("/a", "/a"));
	assert_true(cgroup_path_within("/a/b", "/a"));
	assert_true(cgroup_path_within("/a/b/c", "/a"));
	assert_true(cgroup_path_within("/a", "/"));
	assert_true(cgroup_path_within("/", "/"));
	assert_false(cgroup_path_within("/ab", "/a"));
	assert_false(cgroup_path_within("/a-b", "/a"));
	assert_false(cgroup_path_within("/a", "/a/b"));
	assert_false(cgroup_path_within("/", "/a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_within),
		cmocka_unit_test(test_unescape),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
