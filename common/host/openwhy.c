/* Reasons for which files are refused (openwhy.h). */
#include "host/openwhy.h"

#include <errno.h>
#include <stddef.h>

enum reason { ODD, LARGE, LOOP, RIGHTS, NO_CALL, NO_ANSWER, REPLACED, OTHER, REASONS };

#define TEXTS(begin) { \
	[ODD] = (begin "is not a regular file"), \
	[LARGE] = (begin "is too large"), \
	[LOOP] = (begin "is a loop of symbolic links"), \
	[RIGHTS] = (begin "cannot be read: no permission"), \
	[NO_CALL] = (begin "cannot be looked for: the kernel or a seccomp profile does not allow openat2(2)"), \
	[NO_ANSWER] = (begin "cannot be read: its file system does not answer"), \
	[REPLACED] = (begin "is not the one that was mapped"), \
	[OTHER] = (begin "cannot be read"), \
}

const char *openwhy(enum openwhy what, int err)
{
	static const char *const texts[OPENWHYS][REASONS] = {
		[OPENWHY_FILE] = TEXTS("file "),
		[OPENWHY_DEBUG] = TEXTS("debug file "),
		[OPENWHY_SOURCE] = TEXTS("source file "),
		[OPENWHY_MAP] = TEXTS("its perf map is not used: it "),
		[OPENWHY_DUMP] = TEXTS("its jitdump is not used: it "),
		[OPENWHY_IT] = TEXTS("it "),
	};

	switch (err) {
	case -ENOENT:
	case -ENOTDIR:
	case -ENAMETOOLONG:
	case -ESRCH:
		return NULL;
	case -EINVAL:
		return texts[what][ODD];
	case -EFBIG:
		return texts[what][LARGE];
	case -ELOOP:
		return texts[what][LOOP];
	case -EACCES:
	case -EPERM:
		return texts[what][RIGHTS];
	case -ENOSYS:
		return texts[what][NO_CALL];
	case -ETIMEDOUT:
		return texts[what][NO_ANSWER];
	case -ESTALE:
		return texts[what][REPLACED];
	default:
		return texts[what][OTHER];
	}
}
