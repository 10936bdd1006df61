/*
 * Says why a file that exists was not opened (nsopen.h). Otherwise a refused file would look like
 * one that does not exist.
 */
#ifndef NSPROF_OPENWHY_H
#define NSPROF_OPENWHY_H

/* What the text is about, and how it begins. */
enum openwhy {
	OPENWHY_FILE,		/* "file is ..." */
	OPENWHY_DEBUG,		/* "debug file is ..." */
	OPENWHY_SOURCE,		/* "source file is ..." */
	OPENWHY_MAP,		/* "its perf map is not used: it is ..." */
	OPENWHY_DUMP,		/* "its jitdump is not used: it is ..." */
	OPENWHY_IT,		/* "it is ..." */
	OPENWHYS,
};

/*
 * The reason for @err, a negative errno of nsopen_file(), nsopen_mapping() or nsopen_copy(). Static;
 * NULL: there is no such file.
 */
const char *openwhy(enum openwhy what, int err);

#endif
