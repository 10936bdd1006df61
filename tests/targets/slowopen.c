/*
 * Preloaded into a recorder: opening a state.json takes 2 ms, as on a slow machine. With 600 of
 * them, reading all takes 1.2 s.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

long syscall(long number, ...)
{
	static long (*real)(long number, ...);
	long arg[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_openat2 && strstr((const char *)arg[1], "state.json"))
		usleep(2000);
	return real(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
