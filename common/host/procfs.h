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
	bool deleted;			/* " (deleted)" was there; taken off */
};

/*
 * Calls @fn for each line of @text (modified in place). Malformed lines are skipped and counted in the
 * return value; a non-zero return of @fn ends the walk and is returned negated if positive.
 */
int procfs_maps(char *text, int (*fn)(void *ctx, const struct proc_map *m), void *ctx);

/* Field 22 of /proc/PID/stat, clock ticks since boot. The comm may hold blanks and ')'. 0 or -EINVAL. */
int procfs_stat_start(const char *text, uint64_t *ticks, uint32_t *ppid);
/*
 * Of /proc/PID/stat: does the process run, or some thread of it? One that has ended and is still to be waited for (a
 * zombie) does not. False when it cannot be told.
 */
bool procfs_stat_running(const char *text);
/* PF_KTHREAD in field 9 of /proc/PID/stat. False when malformed. */
bool procfs_stat_kthread(const char *text);
/* Of /proc/PID/stat: was the process forked, and has it begun no program by exec(3) since? False when it cannot be told. */
bool procfs_stat_forked(const char *text);

/* "NStgid:\t20908\t2\t1" of /proc/PID/status: numbers outermost first; how many, 0 when absent. Of more than
 * @max those between the outer ones and the last are left out. */
size_t procfs_status_nstgid(const char *text, uint32_t *out, size_t max);
/* "Tgid:\t123"; 0 when absent. */
uint32_t procfs_status_tgid(const char *text);
/* The file system uid (the last number of "Uid:"): the owner of files that the process creates. */
bool procfs_status_fsuid(const char *text, uint32_t *uid);

/* Path of the v1 line whose controllers include @controller, else of the v2 line ("0::/docker/x").
 * False when there is none. */
bool procfs_cgroup_path(const char *text, const char *controller, char *out, size_t size);

/* "36 35 98:0 /dir /mnt rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=continue" */
struct proc_mount {
	const char *root;	/* "/dir", of the file system; escapes undone here and in @point */
	const char *point;	/* "/mnt" */
	const char *type;	/* "ext4" */
	const char *options;	/* of the file system: "rw,errors=continue", for procfs_mount_option() */
};

/* Calls @fn for each line of mountinfo @text (proc(5)), which is modified. Malformed lines are skipped. */
void procfs_mountinfo(char *text, void (*fn)(void *ctx, const struct proc_mount *m), void *ctx);
/* The value of @key ("upperdir") in @options, escapes undone. False when it is not there, or longer than @size allows. */
bool procfs_mount_option(const char *options, const char *key, char *out, size_t size);

/* Inode in "mnt:[4026531841]", 0 when it is not of that shape. */
uint64_t procfs_ns_inode(const char *link);

#endif
