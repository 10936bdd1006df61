/*
 * Says why a file that is there was not given (nsopen.h). Without it, a file that is refused would
 * read like one that does not exist.
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
