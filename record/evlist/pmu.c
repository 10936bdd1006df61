#include "evlist/pmu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/numlist.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "evlist/name_list.h"

#define PMUS_MAX 4096u	/* servers have some hundred */
#define CPU_MAX 65535

static int read_at(int dir, const char *path, char *buf, size_t size)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return (int)n;
	while (n && (buf[n - 1] == '\n' || buf[n - 1] == ' '))
		n--;
	buf[n] = '\0';
	return (int)n;
}

/* Kinds of core by their numbers: the large ones registered first. */
static int compare_pmus(const void *pa, const void *pb)
{
	const struct pmu *a = pa, *b = pb;

	if (a->core != b->core)
		return a->core ? -1 : 1;
	if (a->core && a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* "cpu" has no list of CPUs where all are alike. Where they differ, each kind has its own PMU with one. */
static void add(struct pmus *p, size_t *cap, const char *name)
{
	char path[NAME_MAX + 32], text[PMU_TEXT_MAX], *end;
	struct pmu pmu = { .core = !strcmp(name, "cpu") };
	unsigned long type;

	snprintf(path, sizeof(path), "%s/type", name);
	if (read_at(p->dir, path, text, sizeof(text)) <= 0)
		return;
	type = strtoul(text, &end, 10);
	if (*end || type > UINT32_MAX)
		return;
	pmu.type = (uint32_t)type;
	snprintf(path, sizeof(path), "%s/cpus", name);
	if (read_at(p->dir, path, text, sizeof(text)) > 0) {
		pmu.core = true;
	} else {
		snprintf(path, sizeof(path), "%s/cpumask", name);
		if (read_at(p->dir, path, text, sizeof(text)) <= 0)
			text[0] = '\0';
	}
	if (text[0] && numlist_parse(text, true, CPU_MAX, &pmu.cpus, &pmu.ncpus))
		pmu.ncpus = 0;
	pmu.name = xstrdup(name);
	p->ncores += pmu.core;
	XGROW(p->v, p->n, *cap);
	p->v[p->n++] = pmu;
}

void pmus_load(struct pmus *p, const char *path)
{
	const struct dirent *e;
	size_t cap = 0;
	DIR *d;

	memset(p, 0, sizeof(*p));
	p->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir < 0) {
		p->dir = -errno;
		return;
	}
	d = opendir(path);
	while (d && p->n < PMUS_MAX && (e = readdir(d)))
		if (e->d_name[0] != '.')
			add(p, &cap, e->d_name);
	if (d)
		closedir(d);
	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), compare_pmus);
}

void pmus_fini(struct pmus *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].name);
		free(p->v[i].cpus);
	}
	free(p->v);
	if (p->dir > 0)
		close(p->dir);
	memset(p, 0, sizeof(*p));
}

const struct pmu *pmus_find(const struct pmus *p, const char *name, size_t len)
{
	for (size_t i = 0; i < p->n; i++)
		if (strlen(p->v[i].name) == len && !memcmp(p->v[i].name, name, len))
			return &p->v[i];
	return NULL;
}

int pmu_text(const struct pmus *p, const struct pmu *pmu, const char *folder, const char *name, size_t len, char *buf,
	     size_t size)
{
	char path[2 * NAME_MAX + 32];

	/* A name, not a path: it comes from the command line. */
	if (!len || len > NAME_MAX - 16 || memchr(name, '/', len) || name[0] == '.')
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/%s/%.*s", pmu->name, folder, (int)len, name);
	return read_at(p->dir, path, buf, size);
}

/* "config:0-7,32-35" */
int pmu_format(const struct pmus *p, const struct pmu *pmu, const char *term, size_t len, struct pmu_format *out)
{
	char text[PMU_TEXT_MAX], *colon;
	uint32_t *bits = NULL;
	size_t n = 0;
	int err = pmu_text(p, pmu, "format", term, len, text, sizeof(text));

	if (err < 0)
		return err;
	colon = strchr(text, ':');
	if (!colon || strncmp(text, "config", 6))
		return -EINVAL;
	*colon = '\0';
	if (text[6] && (text[6] < '1' || text[6] > '2' || text[7]))
		return -EINVAL;
	out->config = text[6] ? (uint8_t)(text[6] - '0') : 0;
	err = numlist_parse(colon + 1, true, 63, &bits, &n);
	if (err)
		return err;
	out->mask = 0;
	for (size_t i = 0; i < n; i++)
		out->mask |= 1ull << bits[i];
	free(bits);
	return 0;
}

bool pmu_spread(uint64_t mask, uint64_t value, uint64_t *out)
{
	*out = 0;
	for (; mask; mask &= mask - 1, value >>= 1)
		if (value & 1)
			*out |= mask & -mask;
	return !value;
}

static bool describes(const char *name)
{
	static const char *const ends[] = { ".unit", ".scale", ".snapshot", ".per-pkg" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(ends); i++)
		if (!strcmp(dot, ends[i]))
			return true;
	return false;
}

static bool is_listed(int folder, const struct dirent *e)
{
	(void)folder;
	return e->d_name[0] != '.' && !describes(e->d_name);
}

size_t pmu_names(const struct pmus *p, const struct pmu *pmu, const char *folder, char ***names)
{
	char path[2 * NAME_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", pmu->name, folder);
	return name_list(p->dir, path, is_listed, names);
}
