#include "host/opener_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(WIRE_FDS * sizeof(int))];
};

int wire_send(int sock, const void *head, size_t head_len, const void *data, size_t len, const int *fds, int n)
{
	/* Messages do not queue up, except in a program that hangs. */
	struct iovec iov[2] = {
		{ (void *)(uintptr_t)head, head_len }, { (void *)(uintptr_t)data, len },
	};
	union control c;
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = len ? 2 : 1 };
	ssize_t sent;

	if (n) {
		struct cmsghdr *cm;

		memset(&c, 0, sizeof(c));
		m.msg_control = &c;
		m.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
		cm = CMSG_FIRSTHDR(&m);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
		memcpy(CMSG_DATA(cm), fds, (size_t)n * sizeof(int));
	}
	do
		sent = sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

void wire_close(const int *fds, int n)
{
	for (int i = 0; i < n; i++)
		close(fds[i]);
}

ssize_t wire_recv(int sock, void *buf, size_t size, int fds[WIRE_FDS], int *n)
{
	struct iovec iov = { buf, size };
	union control c;
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c) };
	ssize_t got = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);

	*n = 0;
	if (got < 0)
		return -errno;
	for (struct cmsghdr *cm = CMSG_FIRSTHDR(&m); cm; cm = CMSG_NXTHDR(&m, cm)) {
		if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
			continue;
		*n = (int)((cm->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(cm), (size_t)*n * sizeof(int));
	}
	if (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		/* No room for descriptors (RLIMIT_NOFILE). */
		wire_close(fds, *n);
		*n = 0;
		return -EMFILE;
	}
	return got;
}
