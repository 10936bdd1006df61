/*
 * What fuzzing harnesses share. A harness defines LLVMFuzzerTestOneInput(), which libFuzzer calls
 * with bytes of its own making, and replay.c with stored ones. It may keep nothing between two
 * calls, or a crash would not repeat.
 */
#ifndef NSPROF_FUZZ_H
#define NSPROF_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"

/* libFuzzer's names (llvm.org/docs/LibFuzzer.html). The first is in quiet.c, for all harnesses. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An input from which a harness also takes its choices. Past the end everything is 0. */
struct feed {
	const uint8_t *p;
	size_t left;
};

static inline uint64_t feed_bytes(struct feed *f, size_t n)
{
	uint64_t v = 0;

	n = MIN(n, f->left);
	memcpy(&v, f->p, n);
	f->p += n;
	f->left -= n;
	return v;
}

static inline uint8_t feed_u8(struct feed *f)
{
	return (uint8_t)feed_bytes(f, 1);
}

static inline uint64_t feed_u64(struct feed *f)
{
	return feed_bytes(f, 8);
}

/* A part of the input, at most @n bytes. */
static inline struct feed feed_part(struct feed *f, size_t n)
{
	struct feed part = { f->p, MIN(n, f->left) };

	f->p += part.left;
	f->left -= part.left;
	return part;
}

/* A copy in memory of exactly that size, so that a sanitizer sees each byte read behind it. Owned. */
static inline uint8_t *fuzz_copy(const void *data, size_t size)
{
	uint8_t *copy = xmalloc(size ? size : 1);

	if (size)
		memcpy(copy, data, size);
	return copy;
}

/* The same as a text: with a NUL behind it. */
static inline char *fuzz_text(const void *data, size_t size)
{
	char *text = xmalloc(size + 1);

	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* The input as a file: an owned descriptor at the beginning of it, and a path. */
static inline int fuzz_file(const void *data, size_t size, char path[32])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

/* Reads all of it, so that a sanitizer checks that it is there. */
static inline void fuzz_read(const void *data, size_t size)
{
	const uint8_t *p = data;
	volatile uint8_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum = (uint8_t)(sum + p[i]);
}

static inline void fuzz_read_text(const char *text)
{
	if (text)
		fuzz_read(text, strlen(text));
}

#endif
