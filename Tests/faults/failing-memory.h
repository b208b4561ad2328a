/* The allocation functions of a program. Its must_fail(), defined before this is included, decides which calls fail.
 * The library calls them like every other part of the process, even under AddressSanitizer. */
#ifndef RUNLOOP_TESTS_FAILING_MEMORY_H
#define RUNLOOP_TESTS_FAILING_MEMORY_H

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define LIBC(name) __interceptor_##name
#define LIBC_ALIGNED(alignment, size) __interceptor_aligned_alloc(alignment, size)
extern void *__interceptor_aligned_alloc(size_t alignment, size_t size);
#endif
#endif
#ifndef LIBC
#define LIBC(name) __libc_##name
#define LIBC_ALIGNED(alignment, size) __libc_memalign(alignment, size)
extern void *__libc_memalign(size_t alignment, size_t size);
#endif
extern void *LIBC(malloc)(size_t size);
extern void *LIBC(calloc)(size_t count, size_t size);
extern void *LIBC(realloc)(void *memory, size_t size);

void *malloc(size_t size) { return must_fail() ? NULL : LIBC(malloc)(size); }
void *calloc(size_t count, size_t size) { return must_fail() ? NULL : LIBC(calloc)(count, size); }
void *realloc(void *memory, size_t size) { return must_fail() ? NULL : LIBC(realloc)(memory, size); }
void *aligned_alloc(size_t alignment, size_t size) { return must_fail() ? NULL : LIBC_ALIGNED(alignment, size); }
int posix_memalign(void **memory, size_t alignment, size_t size)
{
    *memory = must_fail() ? NULL : LIBC_ALIGNED(alignment, size);
    return *memory == NULL ? ENOMEM : 0;
}

#endif
