/* Counts what is flushed to disk, and makes each flush take as long as a slower disk would. Preloaded into the servers.
 * The shared page: [0] flushes of write-ahead logs, [1] all flushes, [2] microseconds to add to each. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t *page;

__attribute__((constructor)) static void map_page(void) {
  const char *path = getenv("BENCH_SYNC_PAGE");
  int fd = path ? open(path, O_RDWR) : -1;
  if (fd < 0) return;
  void *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped != MAP_FAILED) page = mapped;
}

static void note(int fd) {
  char link[64], target[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, target, sizeof target - 1);
  if (length >= 4 && memcmp(target + length - 4, "-wal", 4) == 0) atomic_fetch_add(&page[0], 1);
  atomic_fetch_add(&page[1], 1);
  uint64_t micros = atomic_load(&page[2]);
  struct timespec left = {micros / 1000000, (micros % 1000000) * 1000};
  while (micros > 0 && nanosleep(&left, &left) != 0) {
  }
}

int fdatasync(int fd) {
  static int (*real)(int);
  if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
  int result = real(fd);
  if (page) note(fd);
  return result;
}

int fsync(int fd) {
  static int (*real)(int);
  if (!real) real = dlsym(RTLD_NEXT, "fsync");
  int result = real(fd);
  if (page) note(fd);
  return result;
}
