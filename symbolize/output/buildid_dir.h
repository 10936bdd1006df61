/*
 * Writes what a recording captured of binaries and of the kernel's symbols as a build-id cache for
 * perf ("perf --buildid-dir DIR"). With it, perf can name binaries that are gone or in a container.
 */
#ifndef NSPROF_BUILDID_DIR_H
#define NSPROF_BUILDID_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct modules;
struct rec_reader;

/* Creates @dir, or accepts an empty one. 0 or negative errno after a message. */
int buildid_dir_prepare(const char *dir);
/*
 * In the program that a parser (parser.h) belongs to: answers a request of buildid_dir_prepare() there
 * for @dir, the one that the user named, or NULL. -ENOSYS: it is another request.
 */
int buildid_dir_serve(const char *dir, uint32_t kind);
/* There: is @path a file of such a cache in @dir? Makes its folders. */
bool buildid_dir_allows(const char *dir, const char *path);
/*
 * Writes the captures of @r for those of @mods that have a build-id, and the kernel's under @kernel
 * (@len bytes). Paths consist of build-ids only. 0 or negative errno after a message.
 */
int buildid_dir_write(const char *dir, struct rec_reader *r, struct modules *mods, const uint8_t *kernel, size_t len);

#endif
