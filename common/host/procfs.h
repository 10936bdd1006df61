/* Parsers for /proc text. Pure functions: they open nothing. */
#ifndef NSPROF_PROCFS_H
#define NSPROF_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "7f5c8e200000-7f5c8e228000 r-xp 00028000 fe:00 1234   /usr/lib/x.so (deleted)" */
struct proc_map {
	uint64_t start, end;		/* 0x7f5c8e200000, 0x7f5c8e228000 */
	uint64_t pgoff;			/* 0x28000 */
	uint32_t prot;			/* PROT_READ | PROT_EXEC */
	bool shared;			/* 's' instead of 'p' */
	uint32_t dev_major, dev_minor;	/* 0xfe, 0 */
	uint64_t ino;			/* 1234 */
	const char *path;		/* "/usr/lib/x.so"; "" for anonymous; "\\012" undone */
	bool deleted;			/* " (deleted)" was there and is removed from path */
};

/*
 * Calls @fn for each line of @text, which is modified in place. Malformed lines are skipped; the
 * return value is their number. If @fn returns non-zero, the walk ends and returns that value,
 * negated if positive.
 */
int procfs_maps(char *text, int (*fn)(void *ctx, const struct proc_map *m), void *ctx);

/*
 * Field 22 of /proc/PID/stat, in clock ticks since boot, and the parent's pid. The comm may contain
 * blanks and ')'. 0 or -EINVAL.
 */
int procfs_stat_start(const char *text, uint64_t *ticks, uint32_t *ppid);
/*
 * From /proc/PID/stat: is the process or one of its threads alive? A process that ended and was not
 * reaped yet (a zombie) is not. False if the text is malformed.
 */
bool procfs_stat_running(const char *text);
/* PF_KTHREAD in field 9 of /proc/PID/stat. False when malformed. */
bool procfs_stat_kthread(const char *text);
/*
 * From /proc/PID/stat: was the process forked without an exec(3) since? False if the text is
 * malformed.
 */
bool procfs_stat_forked(const char *text);
/*
 * From /proc/PID/stat: tells the program that a process runs from the one after its next exec(3), by
 * where its code, data and stack are. Without address space randomization, two programs that are the
 * same, with arguments of the same length, are not told apart. A fork is not told from its parent.
 * *@image: 0: it has no program: it has ended, or is in the middle of an exec. False: not shown, as
 * ptrace(2) is not allowed, or the text is malformed.
 */
bool procfs_stat_image(const char *text, uint64_t *image);

/*
 * "NStgid:\t20908\t2\t1" in /proc/PID/status: numbers outermost first. Returns how many there are,
 * 0 if the line is absent. If there are more than @max, numbers before the last one are left out.
 */
size_t procfs_status_nstgid(const char *text, uint32_t *out, size_t max);
/* "Tgid:\t123"; 0 if absent. */
uint32_t procfs_status_tgid(const char *text);
/*
 * The file system uid (the last number of "Uid:"), which owns the files that the process creates.
 */
bool procfs_status_fsuid(const char *text, uint32_t *uid);

/*
 * The path in the v1 line whose controllers include @controller, otherwise in the v2 line
 * ("0::/docker/x"). False if there is none.
 */
bool procfs_cgroup_path(const char *text, const char *controller, char *out, size_t size);

/* "36 35 98:0 /dir /mnt rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=continue" */
struct proc_mount {
	uint64_t id;			/* 36 */
	uint32_t dev_major, dev_minor;	/* 98, 0 */
	/* "/dir", relative to the file system; escapes undone here and in @point */
	const char *root;
	const char *point;	/* "/mnt" */
	const char *type;	/* "ext4" */
	const char *options;	/* of the file system: "rw,errors=continue" (procfs_mount_option()) */
};

/*
 * Calls @fn for each line of mountinfo @text (proc(5)), which is modified. Malformed lines are
 * skipped.
 */
void procfs_mountinfo(char *text, void (*fn)(void *ctx, const struct proc_mount *m), void *ctx);
/*
 * The value of @key ("upperdir") in @options, escapes undone. False if it is absent or does not fit
 * into @size.
 */
bool procfs_mount_option(const char *options, const char *key, char *out, size_t size);

/* The inode in "mnt:[4026531841]", or 0 if @link has another format. */
uint64_t procfs_ns_inode(const char *link);

#endif
