#include "run/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/outplace.h"
#include "base/util.h"
#include "base/xalloc.h"

static const struct {
	const char *name;
	enum control_cmd cmd;
} commands[] = {
	{ "enable", CONTROL_ENABLE }, { "disable", CONTROL_DISABLE }, { "stop", CONTROL_STOP },
	{ "snapshot", CONTROL_SNAPSHOT }, { "evlist", CONTROL_EVLIST }, { "ping", CONTROL_PING },
};

static int bad_spec(const char *spec)
{
	pr_err("invalid value '%s' for --control; it takes fd:N[,ACK] or fifo:PATH[,ACK]", spec);
	return -EINVAL;
}

/* Parses all of @text as the number of an open descriptor. */
static int parse_fd(const char *text, int *fd)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end || n > 1 << 20)
		return -EINVAL;
	if (fcntl((int)n, F_SETFD, FD_CLOEXEC)) {
		int err = -errno;

		pr_err("--control: cannot use descriptor %ld: %s", n, strerror(-err));
		return err;
	}
	*fd = (int)n;
	return 0;
}

/*
 * For both directions: opening does not wait for the other end, which may close it and open it
 * again.
 */
static int open_fifo(const char *path, int *fd)
{
	struct outplace at;
	int err = outplace_find(&at, path);

	if (!err && !at.exists)
		err = -ENOENT;
	if (err || S_ISFIFO(at.st.st_mode)) {
		*fd = err ? err : outplace_open(&at, O_RDWR | O_NONBLOCK);
		err = *fd < 0 ? *fd : 0;
		if (err)
			pr_err("--control: cannot open '%s': %s%s", path, outplace_error(&at, err), err == -ENOENT ? "; create it with mkfifo" : "");
	} else {
		pr_err("--control: '%s' is not a FIFO; create one with mkfifo", path);
		err = -ENOTSUP;
	}
	outplace_fini(&at);
	if (err)
		*fd = -1;
	return err;
}

int control_open(struct control *c, const char *spec)
{
	char *first, *second;
	int err;

	*c = (struct control)CONTROL_INIT;
	if (!spec)
		return 0;
	c->owned = !strncmp(spec, "fifo:", 5);
	if (!c->owned && strncmp(spec, "fd:", 3))
		return bad_spec(spec);
	first = xstrdup(strchr(spec, ':') + 1);
	second = strchr(first, ',');
	if (second)
		*second++ = '\0';
	err = !*first ? -EINVAL : c->owned ? open_fifo(first, &c->fd) : parse_fd(first, &c->fd);
	if (!err && second && *second)
		err = c->owned ? open_fifo(second, &c->ack) : parse_fd(second, &c->ack);
	free(first);
	return err == -EINVAL ? bad_spec(spec) : err;
}

void control_close(struct control *c)
{
	if (c->owned && c->fd >= 0)
		close(c->fd);
	if (c->owned && c->ack >= 0)
		close(c->ack);
	*c = (struct control)CONTROL_INIT;
}

bool control_read(struct control *c)
{
	ssize_t n;

	/* A line that fills the buffer is no command. */
	if (c->len == sizeof(c->buf))
		c->len = 0;
	n = read(c->fd, c->buf + c->len, sizeof(c->buf) - c->len);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	c->len += (size_t)n;
	return n > 0;
}

static enum control_cmd command_of(const char *line)
{
	/* "enable EVENT": there is only one event. */
	size_t len = strcspn(line, " ");

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strlen(commands[i].name) == len && !memcmp(commands[i].name, line, len))
			return commands[i].cmd;
	pr_warn("--control: unknown command '%s'; the commands are enable, disable, stop, snapshot, evlist and ping", line);
	return CONTROL_NONE;
}

enum control_cmd control_next(struct control *c)
{
	char line[sizeof(c->buf)];
	enum control_cmd cmd = CONTROL_NONE;
	size_t len = 0;

	while (cmd == CONTROL_NONE) {
		for (len = 0; len < c->len && c->buf[len] != '\n' && c->buf[len]; len++)
			;
		if (len == c->len)
			return CONTROL_NONE;
		memcpy(line, c->buf, len);
		line[len] = '\0';
		c->len -= len + 1;
		memmove(c->buf, c->buf + len + 1, c->len);
		if (len)
			cmd = command_of(line);
	}
	return cmd;
}

void control_ack(const struct control *c)
{
	static const char ack[] = "ack\n";

	/* If the reader is gone or does not read, the answer is lost. */
	if (c->ack >= 0 && write(c->ack, ack, sizeof(ack) - 1) < 0)
		pr_verbose("--control: cannot answer: %s", strerror(errno));
}
