/*
 * What is done with files, folders and memory of profiled processes. Each operation may wait for a
 * file system or for another process, without end if that does not answer. So nothing but nsopen
 * calls fileop_run(), in an opener (opener.h) if there is one.
 *
 * Operations are few and typed. None of them takes a flag of open(2), writes to a file of others,
 * or enters a namespace.
 */
#ifndef NSPROF_FILEOP_H
#define NSPROF_FILEOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define FILEOP_FDS 2

/* in: descriptors and arguments; out: what struct fileop_result has then */
enum fileop_kind {
	/*
	 * A regular file. in: fd[0] root, path; max: largest size in bytes, 0 = any. out: fd,
	 * st.
	 */
	FILEOP_FILE,
	/*
	 * The first of several regular files. in: fd[0] a root, fd[1] a folder, either may be -1;
	 * path: absolute ones below fd[0] and relative ones below fd[1], a NUL after each; from: number
	 * of the first one to try; max. out: as FILEOP_FILE; found: its number.
	 */
	FILEOP_FIRST,
	/* A folder. in: fd[0] root, path. out: fd as O_PATH, st. */
	FILEOP_DIR,
	/* A folder that the user named, wherever it is. in: path: absolute. out: fd as O_PATH, data: its path without links. */
	FILEOP_USER_DIR,
	/* Attributes. in: fd[0], path below it, or NULL for fd[0] itself. Follows no link. out: st; found: f_type. */
	FILEOP_STAT,
	/* Names in a folder. in: fd[0] root, path; max: bytes. out: data: per entry its type (DT_*) and name, NUL. */
	FILEOP_LIST,
	/* The file of a mapping. in: fd[0] of /proc/PID, from, to: its bounds. out: as FILEOP_FILE. */
	FILEOP_MAPPING,
	/* The same for the mapping that has address from by now. */
	FILEOP_MAPPING_AT,
	/* A file that a process has open. in: fd[0] of /proc/PID, path: base name. out: as FILEOP_FILE. */
	FILEOP_HELD,
	/* Text of /proc/PID. in: fd[0] of it, path: "maps", max: bytes. out: data. */
	FILEOP_TEXT,
	/* Memory of a process. in: fd[0] of /proc/PID, from, max: bytes. out: data, as far as readable. */
	FILEOP_MEMORY,
	/*
	 * Copies a piece of a file to the same place in a memfd. in: fd[0] O_PATH, fd[1] memfd, or -1: makes
	 * one of to bytes; from; max: bytes. out: found: bytes copied; fd: the memfd that was made.
	 */
	FILEOP_COPY,
	/* Closes. in: fd[0]. The last descriptor of a file system unmounts it. */
	FILEOP_CLOSE,
	/* For a parser (parser.h) only. /proc/PID or a file of it. in: from: PID, path: "", "root", "stat", "status". out: fd. */
	FILEOP_PROC,
	/* The host's root folder. out: fd as O_PATH. */
	FILEOP_HOST_ROOT,
	FILEOP_KINDS,
};

struct fileop {
	enum fileop_kind kind;
	int fd[FILEOP_FDS];	/* borrowed; -1 = none */
	const char *path;	/* borrowed; NULL = none */
	size_t path_len;	/* FILEOP_FIRST: bytes of @path; otherwise 0 */
	uint64_t from, to, max;
};

struct fileop_result {
	int fd;			/* owned; -1 = none */
	struct stat st;
	uint64_t found;
	char *data;		/* owned, with a NUL behind it; NULL = none */
	size_t len;
};

/* Largest FILEOP_MEMORY and FILEOP_COPY, bytes. */
#define FILEOP_PIECE_MAX (64u << 10)
#define FILEOP_COPY_MAX (1u << 20)

/*
 * From now on a regular file is returned as O_PATH if its file system may not answer (fstrust.h).
 * Such a descriptor can be held and closed without touching the file system, and read with
 * FILEOP_COPY.
 */
void fileop_be_careful(void);
/* 0, or negative errno and nothing in *@r. */
int fileop_run(const struct fileop *op, struct fileop_result *r);
void fileop_result_fini(struct fileop_result *r);

#endif
