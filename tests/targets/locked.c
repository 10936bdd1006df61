/*
 * locked FILE SECONDS: a process whose memory cannot be looked at. It maps FILE, which hungfs serves without
 * answering writes, dirties it and unmaps it: munmap(2) then holds the lock of the mappings until the
 * server has written. Another thread waits to map something, and behind it everybody who reads.
 * Meanwhile the process computes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static char *page;
static volatile unsigned long total;

static void *unmaps(void *unused)
{
	usleep(200000);
	munmap(page, PAGE);
	return unused;
}

static void *maps(void *unused)
{
	usleep(400000);
	mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return unused;
}

__attribute__((noinline)) static void locked_spin(double seconds)
{
	struct timespec now;
	time_t end;

	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + (time_t)seconds;
	while (now.tv_sec <= end) {
		for (unsigned long i = 0; i < 100000; i++)
			total += i * i;
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
}

int main(int argc, char **argv)
{
	int fd = argc < 3 ? -1 : open(argv[1], O_RDWR);
	pthread_t t[2];

	page = fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		perror("locked");
		return 1;
	}
	page[0]++;
	pthread_create(&t[0], NULL, unmaps, NULL);
	pthread_create(&t[1], NULL, maps, NULL);
	locked_spin(atof(argv[2]));
	return 0;
}
