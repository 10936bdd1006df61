/* State directories of docker, podman, CRI-O, containerd, runc and crun (runtimes.h). */
#include "containers/runtimes.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/util.h"
#include "containers/state_budget.h"
#include "containers/state_json.h"
#include "host/nsopen.h"

#define NAMES_MAX (8u << 20)	/* bytes of names per directory: 100,000 ids of 64 letters */
#define PID_TEXT_MAX 32
/* a file changed within this time may change again in the same tick of its timestamp */
#define SETTLED_NS 100000000
#define NS_PER_S 1000000000

struct scan {
	int dirfd;
	const char *only;
	bool (*known)(void *ctx, const char *id, uint64_t file);	/* NULL = none is known */
	void (*fn)(void *ctx, const struct runtime_entry *e);
	void *ctx;
	int err;	/* the first error other than another layout */
};

static const struct runtime_entry nothing = {
	.runtime = "", .id = "", .name = "", .image = "", .pod = "", .pod_ns = "", .pod_uid = "",
	.cgroup = "", .bundle = "",
};

/* A missing or unsuitable file belongs to another layout. Budgets have a message of their own. */
static void note_error(struct scan *sc, int err)
{
	if (err < 0 && err != -EDQUOT && err != -ENOENT && err != -ENOTDIR && err != -EINVAL && err != -EBADMSG && !sc->err)
		sc->err = err;
}

struct listing {
	struct scan *sc;
	const char *path;
	void (*fn)(struct scan *sc, const char *path, const char *name);
};

static bool take_dir(void *ctx, const char *name, int type)
{
	const struct listing *l = ctx;

	if (name[0] != '.' && (type == DT_DIR || type == DT_UNKNOWN) && state_budget_file())
		l->fn(l->sc, l->path, name);
	return true;
}

/* Calls @fn with the name of each entry of directory @path below @dirfd that may be a directory. */
static void each_dir(struct scan *sc, const char *path,
		     void (*fn)(struct scan *sc, const char *path, const char *name))
{
	struct listing l = { .sc = sc, .path = path, .fn = fn };

	note_error(sc, nsopen_list(sc->dirfd, path, NAMES_MAX, take_dir, &l));
}

/* The same for directories named after ids; only one of them may be wanted. */
static void each_id(struct scan *sc, const char *path,
		    void (*fn)(struct scan *sc, const char *path, const char *name))
{
	if (!sc->only)
		each_dir(sc, path, fn);
	else if (!strchr(sc->only, '/') && sc->only[0] != '.')
		fn(sc, path, sc->only);
}

static struct state_val *open_state(struct scan *sc, const char *dir, const char *id, const char *file)
{
	struct state_val *root;
	char path[PATH_MAX];
	int err;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s", dir, id, file) >= sizeof(path))
		return NULL;
	root = state_open(sc->dirfd, path, &err);
	note_error(sc, err);
	return root;
}

/* Reads a file that holds one number, such as "init.pid". 0 if it does not. */
static uint32_t read_pid(const struct scan *sc, const char *dir, const char *id, const char *file)
{
	char path[PATH_MAX], *text;
	unsigned long v;
	int fd, err;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s", dir, id, file) >= sizeof(path))
		return 0;
	fd = nsopen_file(sc->dirfd, path, 0, NULL);
	if (fd < 0)
		return 0;
	text = nsopen_slurp(fd, PID_TEXT_MAX, NULL, &err);
	nsopen_close(fd);
	v = text ? strtoul(text, NULL, 10) : 0;
	free(text);
	return v <= INT32_MAX ? (uint32_t)v : 0;
}

/* ---- docker: daemon/container/container.go, written as config.v2.json ---- */

static void docker_one(struct scan *sc, const char *path, const char *id)
{
	struct state_val *root = open_state(sc, path, id, "config.v2.json");
	const struct state_val *labels = state_at(root, "Config", "Labels");
	struct runtime_entry e = nothing;

	/*
	 * docker writes this before the container runs and keeps it afterwards. Whether it runs,
	 * its cgroup tells.
	 */
	if (root) {
		e.runtime = "docker";
		e.id = id;
		e.name = state_str(root, "Name");
		e.name += e.name[0] == '/';
		e.image = state_str(root, "Config", "Image");
		e.pid = (uint32_t)state_u64(root, "State", "Pid");
		/* Set by cri-dockerd for the kubelet. */
		e.pod = state_str(labels, "io.kubernetes.pod.name");
		e.pod_ns = state_str(labels, "io.kubernetes.pod.namespace");
		e.pod_uid = state_str(labels, "io.kubernetes.pod.uid");
		e.sandbox = !strcmp(state_str(labels, "io.kubernetes.docker.type"), "podsandbox");
		if (e.pod[0] && !e.sandbox)
			e.name = state_str(labels, "io.kubernetes.container.name");
		sc->fn(sc->ctx, &e);
	}
	state_close(root);
}

/*
 * With user namespaces, docker's data root is a folder "UID.GID" in the usual one
 * (setupDaemonRoot() in daemon/daemon_unix.go).
 */
static bool is_remapped(const char *name)
{
	const size_t uid = strspn(name, "0123456789"), gid = name[uid] == '.' ? strspn(name + uid + 1, "0123456789") : 0;

	return uid && gid && !name[uid + 1 + gid];
}

static void docker_remapped(struct scan *sc, const char *top, const char *name)
{
	char sub[PATH_MAX];

	(void)top;
	if (is_remapped(name) && (size_t)snprintf(sub, sizeof(sub), "%s/containers", name) < sizeof(sub))
		each_id(sc, sub, docker_one);
}

/* ---- containers-storage: podman and CRI-O ---- */

/* The other containers of a podman pod tell which is the pod's own, whatever its name. */
static void pods_own(struct scan *sc, const char *id)
{
	struct runtime_entry e = nothing;

	if (!*id || (sc->only && strcmp(sc->only, id)))
		return;
	e.runtime = "podman";
	e.id = id;
	e.sandbox = true;
	sc->fn(sc->ctx, &e);
}

/*
 * An OCI configuration by podman or CRI-O (pkg/annotations of cri-o, libpod's
 * container_internal_linux.go).
 */
static void storage_config(struct scan *sc, const char *path, const char *id)
{
	struct state_val *root = open_state(sc, path, id, "userdata/config.json");
	const struct state_val *notes = state_at(root, "annotations");
	struct runtime_entry e = nothing;

	if (root) {
		e.id = id;
		e.pid = read_pid(sc, path, id, "userdata/pidfile");
		e.cgroup = state_str(root, "linux", "cgroupsPath");
		/* podman sets CRI-O's annotation, too, and says "sandbox" for some that are not. */
		e.runtime = !strcmp(state_str(notes, "io.container.manager"), "libpod") ? "podman" :
			state_at(notes, "io.kubernetes.cri-o.ContainerType") ? "cri-o" : "";
		e.pod = state_str(notes, "io.kubernetes.pod.name");
		e.pod_ns = state_str(notes, "io.kubernetes.pod.namespace");
		e.pod_uid = state_str(notes, "io.kubernetes.pod.uid");
		e.name = state_str(notes, "io.kubernetes.container.name");
		e.image = state_str(notes, "io.kubernetes.cri-o.ImageName");
		e.sandbox = strcmp(e.runtime, "podman") &&
			    !strcmp(state_str(notes, "io.kubernetes.cri-o.ContainerType"), "sandbox");
		sc->fn(sc->ctx, &e);
		if (!strcmp(e.runtime, "podman"))
			pods_own(sc, state_str(notes, "io.kubernetes.cri-o.SandboxID"));
	}
	state_close(root);
}

/*
 * The own container of a podman pod (libpod/runtime_pod_infra_linux.go). Its image came from
 * Kubernetes before 4.0, was then built locally, and is empty in 5.8. It is named after the pod's
 * id unless --infra-name says otherwise.
 */
static bool is_infra(const char *name, const char *image)
{
	size_t len = strlen(name), tail = strlen("-infra"), digits = strspn(name, "0123456789abcdef");

	return !strncmp(image, "localhost/podman-pause:", 23) || (!*image && digits == 12 && !strcmp(name + digits, "-infra")) ||
	       (len > tail && !strcmp(name + len - tail, "-infra") && strstr(image, "/pause:"));
}

/*
 * containers.json: an array of containers; the metadata is a JSON text by whatever created the
 * container.
 */
static void storage_list(struct scan *sc, const char *driver, const char *file)
{
	struct state_val *root = open_state(sc, ".", driver, file);
	const struct state_val *c;

	for (size_t i = 0; (c = state_elem(root, i)); i++) {
		const char *text = state_str(c, "metadata");
		struct state_val *meta = state_parse(text, strlen(text));
		struct runtime_entry e = nothing;

		e.id = state_str(c, "id");
		e.name = state_text(state_elem(state_at(c, "names"), 0));
		e.image = state_str(meta, "image-name");
		e.sandbox = is_infra(e.name, e.image);
		/*
		 * CRI-O's own names are longer than the names people use; those are in its
		 * annotations.
		 */
		e.runtime = state_at(meta, "pod-id") ? "cri-o" : "podman";
		if (e.id[0] && (!sc->only || !strcmp(e.id, sc->only)) && strcmp(e.runtime, "cri-o"))
			sc->fn(sc->ctx, &e);
		state_close(meta);
	}
	state_close(root);
}

static void storage_driver(struct scan *sc, const char *top, const char *name)
{
	size_t len = strlen(name), tail = strlen("-containers");

	(void)top;
	if (len <= tail || strcmp(name + len - tail, "-containers"))
		return;
	storage_list(sc, name, "containers.json");
	/*
	 * Containers that are removed when they end (--rm); all containers with transient storage.
	 */
	storage_list(sc, name, "volatile-containers.json");
	each_id(sc, name, storage_config);
}

/* ---- the OCI runtimes ---- */

/*
 * Identifies the version of a state file without opening it: another version has another hash. 0:
 * no such file, or it was changed just now.
 */
static uint64_t file_now(const struct scan *sc, const char *dir, const char *id, const char *file)
{
	char path[PATH_MAX];
	struct timespec now;
	struct stat st;
	uint64_t key;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s", dir, id, file) >= sizeof(path) ||
	    nsopen_lstat(sc->dirfd, path, &st))
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	if ((int64_t)(now.tv_sec - st.st_ctim.tv_sec) * NS_PER_S + now.tv_nsec - st.st_ctim.tv_nsec < SETTLED_NS)
		return 0;
	key = hash_combine(hash_combine(st.st_dev, st.st_ino), (uint64_t)st.st_size);
	key = hash_combine(hash_combine(key, (uint64_t)st.st_ctim.tv_sec), (uint64_t)st.st_ctim.tv_nsec);
	return key ? key : 1;
}

/* runc stores it among the container's annotations, at any index. */
static const char *runc_bundle(const struct state_val *root)
{
	static const char key[] = "bundle=";
	const struct state_val *labels = state_at(root, "config", "labels"), *label;
	const char *bundle = "";

	for (size_t i = 0; (label = state_elem(labels, i)); i++)
		if (!strncmp(state_text(label), key, sizeof(key) - 1))
			bundle = state_text(label) + sizeof(key) - 1;
	return bundle;
}

/*
 * Most states may be of containers that ended long ago, and a state is about 10 KB of JSON. It
 * begins with the process, so no parsing is needed to see whether that process exists.
 */
static bool is_gone(const char *text, struct runtime_entry *e)
{
	int procfd;

	e->pid = (uint32_t)MIN(state_peek(text, "init_process_pid"), (uint64_t)INT32_MAX);
	e->start_ticks = state_peek(text, "init_process_start");
	procfd = e->pid && e->start_ticks ? nsopen_process(e->pid) : 0;
	if (procfd > 0)
		close(procfd);
	return procfd == -ENOENT;
}

/* As open_state(). If the container is gone, @e has all that matters, and NULL is returned. */
static struct state_val *open_runc(struct scan *sc, const char *dir, const char *id, struct runtime_entry *e, bool *gone)
{
	struct state_val *root = NULL;
	char path[PATH_MAX], *text;
	size_t len;
	int err;

	*gone = false;
	if ((size_t)snprintf(path, sizeof(path), "%s/%s/state.json", dir, id) >= sizeof(path))
		return NULL;
	text = state_read(sc->dirfd, path, &len, &err);
	if (text) {
		*gone = is_gone(text, e);
		root = *gone ? NULL : state_parse(text, len);
		err = root || *gone ? 0 : -EBADMSG;
	}
	note_error(sc, err);
	free(text);
	return root;
}

/* runc: libcontainer's State; crun: libcrun's status. */
static void oci_one(struct scan *sc, const char *path, const char *id)
{
	struct runtime_entry e = nothing;
	struct state_val *root;
	bool gone;

	e.file = file_now(sc, path, id, "state.json");
	if (sc->known && sc->known(sc->ctx, id, e.file))
		return;
	e.id = id;
	root = open_runc(sc, path, id, &e, &gone);
	if (gone) {
		e.runtime = "runc";
		sc->fn(sc->ctx, &e);
		return;
	}
	if (root) {
		const struct state_val *paths = state_at(root, "cgroup_paths");

		e.runtime = "runc";
		e.pid = (uint32_t)state_u64(root, "init_process_pid");
		e.start_ticks = state_u64(root, "init_process_start");
		e.cgroup = state_str(paths, "perf_event");
		if (!e.cgroup[0])
			e.cgroup = state_str(paths, "");
		e.bundle = runc_bundle(root);
		sc->fn(sc->ctx, &e);
		state_close(root);
		return;
	}
	e.file = file_now(sc, path, id, "status");
	if (sc->known && sc->known(sc->ctx, id, e.file))
		return;
	root = open_state(sc, path, id, "status");
	if (!root)
		return;
	e.runtime = "crun";
	e.pid = (uint32_t)state_u64(root, "pid");
	e.start_ticks = state_u64(root, "process-start-time");
	e.cgroup = state_str(root, "cgroup-path");
	e.bundle = state_str(root, "bundle");
	if (e.pid)
		sc->fn(sc->ctx, &e);
	state_close(root);
}

/* ---- containerd: the bundle of each task ---- */

#define TASKS "io.containerd.runtime.v2.task"

static void containerd_one(struct scan *sc, const char *path, const char *id)
{
	const struct state_val *notes;
	struct runtime_entry e = nothing;
	struct state_val *root;

	if (sc->known && sc->known(sc->ctx, id, 0))
		return;
	root = open_state(sc, path, id, "config.json");
	notes = state_at(root, "annotations");
	if (root) {
		/* Docker's containers are in containerd's namespace "moby". */
		e.runtime = !strcmp(path, TASKS "/moby") ? "docker" : "containerd";
		e.id = id;
		e.pid = read_pid(sc, path, id, "init.pid");
		e.cgroup = state_str(root, "linux", "cgroupsPath");
		/* containerd's pkg/cri/annotations, and nerdctl's pkg/labels. */
		e.pod = state_str(notes, "io.kubernetes.cri.sandbox-name");
		e.pod_ns = state_str(notes, "io.kubernetes.cri.sandbox-namespace");
		e.pod_uid = state_str(notes, "io.kubernetes.cri.sandbox-uid");
		e.name = state_str(notes, "io.kubernetes.cri.container-name");
		e.image = state_str(notes, "io.kubernetes.cri.image-name");
		e.sandbox = !strcmp(state_str(notes, "io.kubernetes.cri.container-type"), "sandbox");
		if (!e.name[0])
			e.name = state_str(notes, "nerdctl/name");
		sc->fn(sc->ctx, &e);
	}
	state_close(root);
}

static void containerd_namespace(struct scan *sc, const char *path, const char *ns)
{
	char sub[PATH_MAX];

	if ((size_t)snprintf(sub, sizeof(sub), "%s/%s", path, ns) < sizeof(sub))
		each_id(sc, sub, containerd_one);
}

static void runc_namespace(struct scan *sc, const char *path, const char *ns)
{
	char sub[PATH_MAX];

	if ((size_t)snprintf(sub, sizeof(sub), "%s/%s", path, ns) < sizeof(sub))
		each_id(sc, sub, oci_one);
}

int runtimes_scan(int dirfd, const char *only, void (*fn)(void *ctx, const struct runtime_entry *e),
		   void *ctx)
{
	struct scan sc = { .dirfd = dirfd, .only = only, .fn = fn, .ctx = ctx };

	each_id(&sc, "containers", docker_one);
	each_dir(&sc, ".", docker_remapped);
	each_dir(&sc, ".", storage_driver);
	each_dir(&sc, TASKS, containerd_namespace);
	each_dir(&sc, "runc", runc_namespace);
	each_id(&sc, ".", oci_one);
	return sc.err;
}

int runtimes_scan_new(int dirfd, bool (*known)(void *ctx, const char *id, uint64_t file),
		       void (*fn)(void *ctx, const struct runtime_entry *e), void *ctx)
{
	struct scan sc = { .dirfd = dirfd, .known = known, .fn = fn, .ctx = ctx };

	each_dir(&sc, TASKS, containerd_namespace);
	each_dir(&sc, "runc", runc_namespace);
	each_id(&sc, ".", oci_one);
	return sc.err;
}
