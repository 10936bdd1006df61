#include "import/import_output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/parser.h"

enum { ASK_OPEN = PARSER_OTHER + 300, ASK_COMMIT, ASK_UNDO };

int import_output_check(struct import_output *o, const char *path)
{
	return output_check(&o->out, path);
}

int import_output_open(struct import_output *o)
{
	if (!parser_is())
		return output_open(&o->out);
	return parser_ask(ASK_OPEN, NULL, NULL, &o->out.fd);
}

int import_output_commit(struct import_output *o)
{
	return parser_is() ? parser_ask(ASK_COMMIT, NULL, NULL, NULL) : output_commit(&o->out);
}

void import_output_undo(struct import_output *o)
{
	if (parser_is()) {
		parser_ask(ASK_UNDO, NULL, NULL, NULL);
		output_close(&o->out);
	} else {
		output_undo(&o->out);
	}
}

void import_output_fini(struct import_output *o)
{
	if (output_pending(&o->out))
		output_undo(&o->out);
	output_fini(&o->out);
}

bool import_output_again(const struct import_output *o)
{
	struct stat st;

	return !fstat(o->out.fd, &st) && S_ISREG(st.st_mode) && !(fcntl(o->out.fd, F_GETFL) & O_APPEND);
}

/* 0 or negative errno. */
static int open_or_rewind(struct import_output *o)
{
	int err;

	if (o->out.fd < 0) {
		err = output_open(&o->out);
		if (!err)
			o->start = lseek(o->out.fd, 0, SEEK_CUR);
		return err;
	}
	/* What an earlier parser wrote. */
	if (!import_output_again(o) || o->start < 0)
		return -EBUSY;
	if (ftruncate(o->out.fd, o->start) || lseek(o->out.fd, o->start, SEEK_SET) < 0)
		return -errno;
	return 0;
}

int import_output_serve(struct import_output *o, uint32_t kind, int *fd)
{
	int err;

	switch (kind) {
	case ASK_OPEN:
		err = open_or_rewind(o);
		if (err)
			return err;
		*fd = fcntl(o->out.fd, F_DUPFD_CLOEXEC, 3);
		return *fd < 0 ? -errno : 0;
	case ASK_COMMIT:
		return o->out.fd < 0 ? -EBADF : output_commit(&o->out);
	case ASK_UNDO:
		output_undo(&o->out);
		return 0;
	default:
		return -ENOSYS;
	}
}
