/* Large scratch memory straight from the system, so that freeing it gives it back at once: malloc keeps what lies
 * between other blocks. Where the system has no mmap, malloc has to do. */
#ifndef FIDX_PAGES_H
#define FIDX_PAGES_H
#include <stddef.h>
#include <stdlib.h>
#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#if !defined(MAP_ANONYMOUS) && defined(MAP_ANON)
#define MAP_ANONYMOUS MAP_ANON
#endif
static inline void *fidx_map_pages(size_t size) {
  void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return NULL;
#if defined(MADV_HUGEPAGE)
  (void)madvise(at, size, MADV_HUGEPAGE); /* fewer faults where the system grants it */
#endif
  return at;
}
static inline void fidx_unmap_pages(void *at, size_t size) { (void)munmap(at, size); }
#else
static inline void *fidx_map_pages(size_t size) { return malloc(size); }
static inline void fidx_unmap_pages(void *at, size_t size) {
  (void)size;
  free(at);
}
#endif
#endif
