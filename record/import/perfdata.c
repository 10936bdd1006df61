/* Reads the header of perf.data, and what perf writes about the host and the events. */
#include "import/perfdata.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/tempfile.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cli/filekind.h"
#include "import/mapped.h"

#define FILE_HEADER 104u
#define PIPE_HEADER 16u
#define FEATURES 256u
/* Limits for one file; larger values are damage. */
#define ATTRS_MAX 4096u
#define ENTRY_MAX 4096u	/* bytes of an attr and the place of its ids */
#define IDS_MAX (1u << 20)	/* for all events together */
#define BUILD_IDS_MAX (1u << 20)
#define STRINGS_MAX 65536u
#define PMUS_MAX 64u

enum feature {
	FEATURE_TRACING_DATA = 1,
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_TOTAL_MEM = 10,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC = 12,
	FEATURE_CLOCK_DATA = 29,
	FEATURE_HYBRID_TOPOLOGY = 30,
};

/* ---- bytes ---- */

static struct perfdata_cursor range(const struct perfdata *pd, uint64_t off, uint64_t len)
{
	struct perfdata_cursor c = { .swap = pd->swap };

	if (off > pd->size || len > pd->size - off) {
		c.bad = true;
		return c;
	}
	c.p = pd->map + off;
	c.end = c.p + len;
	return c;
}

/* A u32 length and that many bytes, including a NUL and padding. Owned; NULL if it does not fit. */
static char *counted_string(struct perfdata_cursor *c)
{
	uint32_t len = perfdata_u32(c);
	const uint8_t *p = perfdata_bytes(c, len);

	return p ? xstrndup((const char *)p, strnlen((const char *)p, len)) : NULL;
}

static void set_string(char **to, char *s)
{
	if (!s)
		return;
	free(*to);
	*to = s;
}

/* ---- events ---- */

/*
 * Parses a struct perf_event_attr of any size. Fields that an older kernel lacked are 0. Offsets:
 * include/uapi/linux/perf_event.h.
 */
static struct perfdata_attr *add_attr(struct perfdata *pd, struct perfdata_cursor *c, uint64_t size)
{
	struct perfdata_cursor in = *c;
	struct perfdata_attr a = { 0 };

	if (size < PERF_ATTR_SIZE_VER0 || !perfdata_bytes(c, size) || pd->nattrs >= ATTRS_MAX)
		return NULL;
	in.end = in.p + size;
	a.type = perfdata_u32(&in);
	perfdata_u32(&in);	/* its size again */
	a.config = perfdata_u64(&in);
	a.period = perfdata_u64(&in);
	a.sample_type = perfdata_u64(&in);
	a.read_format = perfdata_u64(&in);
	/* In the other byte order, bit fields begin at the other end of each byte. */
	a.flags = perfdata_u64(&in);
	if (pd->swap) {
		uint64_t v = 0;

		a.flags = __builtin_bswap64(a.flags);
		for (unsigned int i = 0; i < 64; i++)
			v |= (a.flags >> (i ^ 7) & 1) << i;
		a.flags = v;
	}
	perfdata_u32(&in);	/* wakeup */
	perfdata_u32(&in);	/* kind of breakpoint */
	a.config1 = perfdata_u64(&in);
	a.config2 = perfdata_u64(&in);
	a.branch_type = perfdata_u64(&in);
	a.regs_user = perfdata_u64(&in);
	a.stack_user = perfdata_u32(&in);
	perfdata_u32(&in);	/* clockid */
	a.regs_intr = perfdata_u64(&in);
	perfdata_u32(&in);	/* watermark of AUX areas */
	a.max_stack = perfdata_u16(&in);
	a.name = xstrdup("");
	pd->attrs = xrealloc(pd->attrs, (pd->nattrs + 1) * sizeof(a));
	pd->attrs[pd->nattrs] = a;
	return &pd->attrs[pd->nattrs++];
}

/* If several events claim an id, the first one has it. */
static void add_ids(struct perfdata *pd, const struct perfdata_attr *a, struct perfdata_cursor *c, uint64_t n)
{
	if (n > IDS_MAX || pd->ids.n + n > IDS_MAX || n * 8 > (uint64_t)(c->end - c->p))
		return;
	while (n--) {
		bool is_new;
		uint64_t *slot = u64map_put(&pd->ids, perfdata_u64(c), &is_new);

		if (is_new)
			*slot = (uint64_t)(a - pd->attrs);
	}
}

static struct perfdata_attr *find_id(struct perfdata *pd, uint64_t id)
{
	const uint64_t *slot = u64map_get(&pd->ids, id);

	return slot ? &pd->attrs[*slot] : NULL;
}

struct perfdata_attr *perfdata_find(struct perfdata *pd, uint64_t id)
{
	return pd->nattrs == 1 ? pd->attrs : find_id(pd, id);
}

/* ---- features ---- */

/* Names of events. They are in the order of the attrs, since perf writes both from one list. */
static void read_event_desc(struct perfdata *pd, struct perfdata_cursor *c)
{
	uint32_t n = perfdata_u32(c), size = perfdata_u32(c);

	for (uint32_t i = 0; i < n && !c->bad; i++) {
		struct perfdata_attr *a;
		uint32_t nids;
		char *name;
		uint64_t id = 0;

		perfdata_bytes(c, size);
		nids = perfdata_u32(c);
		name = counted_string(c);
		for (uint32_t k = 0; k < nids && !c->bad; k++) {
			uint64_t v = perfdata_u64(c);

			id = k ? id : v;
		}
		a = nids ? find_id(pd, id) : NULL;
		if (!a && n == pd->nattrs)
			a = &pd->attrs[i];
		if (a)
			set_string(&a->name, name);
		else
			free(name);
	}
}

/* perf's record of a build-id, without its header. */
static void read_build_id(struct perfdata *pd, struct perfdata_cursor *c, uint16_t misc)
{
	struct perfdata_build_id b = { .len = BUILD_ID_MAX };
	const uint8_t *id;
	const char *path;

	perfdata_u32(c);	/* pid: -1, the host */
	id = perfdata_bytes(c, 24);
	path = perfdata_cstr(c);
	if (!id || !path || pd->nbuild_ids >= BUILD_IDS_MAX)
		return;
	/* PERF_RECORD_MISC_BUILD_ID_SIZE, since 5.10. Before, all had 20 bytes. */
	if (misc & 1u << 15)
		b.len = MIN(id[20], (uint8_t)BUILD_ID_MAX);
	memcpy(b.id, id, b.len);
	b.path = xstrdup(path);
	XGROW(pd->build_ids, pd->nbuild_ids, pd->build_ids_cap);
	pd->build_ids[pd->nbuild_ids++] = b;
}

static void read_build_ids(struct perfdata *pd, struct perfdata_cursor *c)
{
	while (c->end - c->p >= 8 && !c->bad) {
		struct perfdata_cursor one = *c;
		uint16_t misc, size;

		perfdata_u32(&one);
		misc = perfdata_u16(&one);
		size = perfdata_u16(&one);
		if (size < 8 || !perfdata_bytes(c, size))
			return;
		one.end = c->p;
		read_build_id(pd, &one, misc);
	}
}

static void read_cmdline(struct perfdata *pd, struct perfdata_cursor *c)
{
	struct strbuf sb = STRBUF_INIT;
	uint32_t n = perfdata_u32(c);

	for (uint32_t i = 0; i < n && i < STRINGS_MAX; i++) {
		char *word = counted_string(c);

		if (!word)
			break;
		strbuf_addf(&sb, "%s%s", i ? " " : "", word);
		free(word);
	}
	if (sb.len)
		set_string(&pd->cmdline, xstrdup(sb.s));
	strbuf_fini(&sb);
}

/*
 * {name, list of CPUs} for each kind of CPU (write_hybrid_topology() in tools/perf/util/header.c).
 */
static void read_core_pmus(struct perfdata *pd, struct perfdata_cursor *c)
{
	uint32_t n = perfdata_u32(c);

	for (uint32_t i = 0; i < n && pd->ncore_pmus < PMUS_MAX; i++) {
		char *name = counted_string(c);

		free(counted_string(c));
		if (!name)
			break;
		pd->core_pmus = xrealloc(pd->core_pmus, (pd->ncore_pmus + 1) * sizeof(*pd->core_pmus));
		pd->core_pmus[pd->ncore_pmus++] = name;
	}
}

static void read_feature(struct perfdata *pd, uint64_t feature, struct perfdata_cursor *c)
{
	switch (feature) {
	case FEATURE_TRACING_DATA:
		perfdata_tracing(pd, c);
		break;
	case FEATURE_BUILD_ID:
		read_build_ids(pd, c);
		break;
	case FEATURE_HOSTNAME:
		set_string(&pd->hostname, counted_string(c));
		break;
	case FEATURE_OSRELEASE:
		set_string(&pd->osrelease, counted_string(c));
		break;
	case FEATURE_VERSION:
		set_string(&pd->version, counted_string(c));
		break;
	case FEATURE_ARCH:
		set_string(&pd->arch, counted_string(c));
		break;
	case FEATURE_NRCPUS:
		pd->ncpus = perfdata_u32(c);
		break;
	case FEATURE_TOTAL_MEM:
		pd->memory_kb = perfdata_u64(c);
		break;
	case FEATURE_CMDLINE:
		read_cmdline(pd, c);
		break;
	case FEATURE_EVENT_DESC:
		read_event_desc(pd, c);
		break;
	case FEATURE_CLOCK_DATA:
		perfdata_u32(c);	/* version */
		perfdata_u32(c);	/* clock */
		pd->clock_wall_ns = perfdata_u64(c);
		pd->clock_ns = perfdata_u64(c);
		pd->have_clock = !c->bad;
		break;
	case FEATURE_HYBRID_TOPOLOGY:
		read_core_pmus(pd, c);
		break;
	default:
		break;
	}
}

/* After the data: an entry {offset, size} for each bit that is set. */
static void read_features(struct perfdata *pd, const uint64_t bits[FEATURES / 64])
{
	struct perfdata_cursor table = range(pd, pd->data_end, pd->size - pd->data_end);

	for (unsigned int f = 0; f < FEATURES && !table.bad; f++) {
		struct perfdata_cursor c;
		uint64_t off, len;

		if (!(bits[f / 64] >> f % 64 & 1))
			continue;
		off = perfdata_u64(&table);
		len = perfdata_u64(&table);
		c = range(pd, off, len);
		/* In a cut file, it lies beyond the end. */
		if (table.bad || c.bad)
			pd->cut = true;
		else
			read_feature(pd, f, &c);
	}
}

/* EVENT_UPDATE of the pipe format: {u64 type, id; data}. Type 2 is a name. */
static void read_event_update(struct perfdata *pd, struct perfdata_cursor *c)
{
	uint64_t type = perfdata_u64(c);
	struct perfdata_attr *a = perfdata_find(pd, perfdata_u64(c));
	const char *name = type == 2 ? perfdata_cstr(c) : NULL;

	if (a && name)
		set_string(&a->name, xstrdup(name));
}

void perfdata_meta(struct perfdata *pd, uint32_t type, const uint8_t *rec, size_t size)
{
	struct perfdata_cursor c = { .p = rec + 8, .end = rec + size, .swap = pd->swap };
	struct perfdata_cursor misc = { .p = rec + 4, .end = rec + 6, .swap = pd->swap };
	struct perfdata_attr *a;
	uint32_t asize;

	switch (type) {
	case PERFDATA_HEADER_ATTR:
		/* Its size, at byte 4, tells where the ids begin. */
		if (size < 16)
			return;
		c.p += 4;
		asize = perfdata_u32(&c);
		c.p = rec + 8;
		a = add_attr(pd, &c, asize ? asize : PERF_ATTR_SIZE_VER0);
		if (a)
			add_ids(pd, a, &c, (uint64_t)(c.end - c.p) / 8);
		break;
	case PERFDATA_HEADER_FEATURE:
		read_feature(pd, perfdata_u64(&c), &c);
		break;
	case PERFDATA_BUILD_ID:
		read_build_id(pd, &c, perfdata_u16(&misc));
		break;
	case PERFDATA_EVENT_UPDATE:
		read_event_update(pd, &c);
		break;
	default:
		break;
	}
}

/* ---- the header ---- */

static int read_attrs(struct perfdata *pd, uint64_t off, uint64_t len, uint64_t entry)
{
	struct perfdata_cursor c = range(pd, off, len);

	/* The attr, and {offset, size} of its ids. */
	if (c.bad || entry < PERF_ATTR_SIZE_VER0 + 16)
		return -EINVAL;
	while ((uint64_t)(c.end - c.p) >= entry) {
		struct perfdata_attr *a = add_attr(pd, &c, entry - 16);
		uint64_t ids_off, ids_len;
		struct perfdata_cursor ids;

		if (!a)
			return -EINVAL;
		ids_off = perfdata_u64(&c);
		ids_len = perfdata_u64(&c);
		ids = range(pd, ids_off, ids_len);
		if (!ids.bad)
			add_ids(pd, a, &ids, ids_len / 8);
	}
	return pd->nattrs ? 0 : -EINVAL;
}

static int read_file_header(struct perfdata *pd)
{
	struct perfdata_cursor c = range(pd, 8, FILE_HEADER - 8);
	uint64_t bits[FEATURES / 64], entry, attrs, attrs_len, len;
	int err;

	perfdata_u64(&c);	/* size of the header */
	entry = perfdata_u64(&c);
	attrs = perfdata_u64(&c);
	attrs_len = perfdata_u64(&c);
	pd->data = perfdata_u64(&c);
	len = perfdata_u64(&c);
	perfdata_bytes(&c, 16);	/* event types: unused since 3.11 */
	for (size_t i = 0; i < FEATURES / 64; i++)
		bits[i] = perfdata_u64(&c);
	/* With a possible entry size, the header can be trusted, so the file is cut. */
	if (c.bad || (entry <= ENTRY_MAX && attrs_len <= ATTRS_MAX * entry && attrs > pd->size - MIN(attrs_len, pd->size)))
		return -ENODATA;
	if (pd->data > pd->size)
		return -EINVAL;
	/*
	 * The bitmap consists of longs. In the other byte order, it must be read as pairs of 32
	 * bits if longs had 4 bytes. The bit of HOSTNAME, which is always set, shows this.
	 */
	if (pd->swap && !(bits[0] >> FEATURE_HOSTNAME & 1))
		for (size_t i = 0; i < FEATURES / 64; i++)
			bits[i] = bits[i] << 32 | bits[i] >> 32;
	err = read_attrs(pd, attrs, attrs_len, entry);
	if (err)
		return err;
	/* Written last. If it is missing, perf was killed, and there are no features. */
	if (!len || len > pd->size - pd->data) {
		pd->cut = true;
		pd->data_end = pd->size;
		return 0;
	}
	pd->data_end = pd->data + len;
	read_features(pd, bits);
	return 0;
}

/*
 * Detects file or pipe format and the byte order from the magic and the header size in the first @n
 * bytes of @head.
 */
static int read_header(struct perfdata *pd, const uint8_t *head, size_t n)
{
	struct perfdata_cursor c = { .p = head + 8, .end = head + PIPE_HEADER };

	pd->swap = n >= 8 && !memcmp(head, "2ELIFREP", 8);
	if (!pd->swap && (n < 8 || memcmp(head, "PERFILE2", 8) != 0))
		return -ENOEXEC;
	if (n < PIPE_HEADER)
		return -ENODATA;
	c.swap = pd->swap;
	pd->piped = perfdata_u64(&c) == PIPE_HEADER;
	if (!pd->piped)
		return pd->map ? read_file_header(pd) : -ESPIPE;
	pd->data = PIPE_HEADER;
	pd->data_end = pd->size;
	return 0;
}

/* Fills @head from *@n up to @want bytes, or to the end of the pipe. 0 or -errno. */
static int read_head(int fd, uint8_t *head, size_t *n, size_t want)
{
	while (*n < want) {
		ssize_t got = read(fd, head + *n, want - *n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		*n += (size_t)got;
	}
	return 0;
}

/* Prints what the file with these first @n bytes is, since it is not perf.data. */
static int tell_foreign(const uint8_t *head, size_t n, const char *name)
{
	const char *kind = n ? filekind_text(head, n) : NULL;

	if (!n)
		pr_err("%s is empty: perf record was killed before it wrote anything", name);
	else if (kind)
		pr_err("%s is not perf.data; it is %s", name, kind);
	else
		pr_err("%s is not perf.data: it does not begin with PERFILE2", name);
	return -ENOEXEC;
}

static int open_file(struct perfdata *pd, int fd, const struct stat *st, const char *name)
{
	uint8_t head[FILEKIND_HEAD];
	ssize_t n = pread(fd, head, sizeof(head), 0);
	int err;

	if (n < 0)
		return -errno;
	if (!n)
		return tell_foreign(head, 0, name);
	pd->size = (size_t)st->st_size;
	pd->bytes = pd->size;
	pd->written_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	err = mapped_open(fd, pd->size, &pd->map);
	if (err)
		return err;
	err = read_header(pd, head, (size_t)n);
	return err == -ENOEXEC ? tell_foreign(head, (size_t)n, name) : err;
}

/*
 * Opens the file format arriving through a pipe; @head holds its first @n bytes. The format
 * contains file offsets, so it is copied to a temporary file first.
 */
static int open_spooled(struct perfdata *pd, const uint8_t *head, size_t n, const char *name)
{
	const size_t room = 256 << 10;
	int fd = tempfile_open(), err = fd < 0 ? -ENOEXEC : 0;
	uint8_t *buf = xmalloc(room);
	struct stat st;

	memcpy(buf, head, n);
	while (!err && n) {
		err = tempfile_write(fd, buf, n) ? -ENOEXEC : 0;
		n = 0;
		err = err ? err : read_head(pd->fd, buf, &n, room);
	}
	free(buf);
	if (!err)
		err = fstat(fd, &st) ? -errno : open_file(pd, fd, &st, name);
	/* Its time of writing is unknown. */
	pd->written_ns = 0;
	if (fd >= 0)
		close(fd);
	return err;
}

static int open_pipe(struct perfdata *pd, const char *name)
{
	uint8_t head[FILEKIND_HEAD];
	size_t n = 0;
	int err = read_head(pd->fd, head, &n, PIPE_HEADER);

	if (!err)
		err = read_header(pd, head, n);
	if (err == -ESPIPE)
		return open_spooled(pd, head, n, name);
	if (err != -ENOEXEC)
		return err;
	/* Read enough to recognize other formats. */
	err = n < PIPE_HEADER ? 0 : read_head(pd->fd, head, &n, sizeof(head));
	return err ? err : tell_foreign(head, n, name);
}

static int open_dir(struct perfdata *pd, const char *name)
{
	int fd = perfdata_part_open(pd->fd, -1), err;
	struct stat st;

	if (fd < 0)
		return fd == -ENOENT ? -EISDIR : fd;
	if (fstat(fd, &st))
		err = -errno;
	else
		err = S_ISREG(st.st_mode) ? open_file(pd, fd, &st, name) : -EISDIR;
	close(fd);
	return err ? err : perfdata_open_parts(pd, pd->fd);
}

static int open_fd(struct perfdata *pd, const char *name)
{
	struct stat st;

	if (fstat(pd->fd, &st))
		return -errno;
	if (S_ISREG(st.st_mode))
		return open_file(pd, pd->fd, &st, name);
	return S_ISDIR(st.st_mode) ? open_dir(pd, name) : open_pipe(pd, name);
}

int perfdata_shrank(const struct perfdata *pd)
{
	pr_err("%s shrank while it was read: wait until the program that writes it has ended, or read a copy", pd->name);
	return -ENOEXEC;
}

struct perfdata *perfdata_open(int fd, const char *name)
{
	struct perfdata *pd = xcalloc(1, sizeof(*pd));
	int err;

	pd->fd = fd;
	pd->name = name;
	pd->hold = PERFDATA_HOLD;
	err = open_fd(pd, name);
	if (mapped_shrank())
		err = perfdata_shrank(pd);
	else if (!err)
		return pd;
	else if (err == -EISDIR)
		pr_err("%s is a directory, but not one of 'perf record --threads': it has no file 'data'", name);
	else if (err == -EINVAL)
		pr_err("%s is damaged: its header has no events", name);
	else if (err == -ENODATA)
		pr_err("%s is cut inside its header: there is nothing to read", name);
	else if (err != -ENOEXEC)	/* that printed a message */
		pr_err("cannot read %s: %s", name, strerror(-err));
	perfdata_free(pd);
	return NULL;
}

void perfdata_free(struct perfdata *pd)
{
	if (!pd)
		return;
	for (size_t i = 0; i < pd->nattrs; i++)
		free(pd->attrs[i].name);
	for (size_t i = 0; i < pd->nbuild_ids; i++)
		free(pd->build_ids[i].path);
	for (size_t i = 0; i < pd->ncore_pmus; i++)
		free(pd->core_pmus[i]);
	free(pd->attrs);
	free(pd->core_pmus);
	free(pd->build_ids);
	perfdata_deferred_free(pd->deferred);
	perfdata_free_formats(pd);
	u64map_fini(&pd->ids);
	free(pd->hostname);
	free(pd->osrelease);
	free(pd->arch);
	free(pd->version);
	free(pd->cmdline);
	perfdata_close_parts(pd);
	if (pd->map)
		mapped_close(pd->map, pd->size);
	free(pd);
}
