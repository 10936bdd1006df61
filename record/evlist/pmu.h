/*
 * What sysfs says about the PMUs of this machine: /sys/bus/event_source/devices, as described in
 * Documentation/ABI/testing/sysfs-bus-event_source-devices-*.
 */
#ifndef NSPROF_PMU_H
#define NSPROF_PMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMUS_PATH "/sys/bus/event_source/devices"
#define PMU_TEXT_MAX 4096u	/* bytes of a file that are read; the kernel's are one page */

struct pmu {
	char *name;		/* owned: "cpu", "cpu_core", "uncore_imc_0", "msr" */
	uint32_t type;		/* for attr.type */
	bool core;		/* counts what a CPU's code does: "cpu", or one of several kinds of core */
	/* From "cpus" of a kind of core, or "cpumask" of what several CPUs share. Owned; 0: all CPUs. */
	uint32_t *cpus;
	size_t ncpus;
};

struct pmus {
	int dir;		/* owned descriptor, or negative errno */
	struct pmu *v;		/* owned; first those that are core, by type; then by name */
	size_t n;
	size_t ncores;		/* PMUs that are core */
};

/* Bits of attr.config, 1 or 2 that a term sets. */
struct pmu_format {
	uint8_t config;		/* 0: config, 1: config1, 2: config2 */
	uint64_t mask;		/* the term's lowest bit goes to the mask's lowest bit, and so on */
};

/* Lists the PMUs below @path. Without any, p->n is 0 and p->dir says why. Release with pmus_fini(). */
void pmus_load(struct pmus *p, const char *path);
void pmus_fini(struct pmus *p);

const struct pmu *pmus_find(const struct pmus *p, const char *name, size_t len);

/*
 * The text of the file "events/NAME" or the like of @pmu, without the newline. Its length, or
 * negative errno.
 */
int pmu_text(const struct pmus *p, const struct pmu *pmu, const char *folder, const char *name, size_t len, char *buf,
	     size_t size);
/* 0; -ENOENT: @pmu has no such term; -EINVAL: its file is malformed, or names a field unknown here. */
int pmu_format(const struct pmus *p, const struct pmu *pmu, const char *term, size_t len, struct pmu_format *out);
/* The bits of @mask filled with @value. False if it does not fit. */
bool pmu_spread(uint64_t mask, uint64_t value, uint64_t *out);

/*
 * The names in "events" or "format", sorted. Files that describe an event (NAME.unit, .scale,
 * .snapshot, .per-pkg) are left out. *@names is owned, as are its elements; NULL if there are none.
 */
size_t pmu_names(const struct pmus *p, const struct pmu *pmu, const char *folder, char ***names);

#endif
