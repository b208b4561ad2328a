/* Measures and limits what an idle descriptor costs: the memory that the loop uses for it beyond the object, which the client
 * asked for. */
#include "descriptor.h"

#include <malloc.h>
#include <sys/resource.h>

/* Just more than a power of two, so that a table which doubles in size when it is full is now half empty. */
enum { many = 4100, most_beyond = 50 };

static RLRunLoopRef rl;
static int idle[2];
static int fds[many];
static const void *objects[many];
static RLRunLoopSourceRef sources[many];

static size_t bytes_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static int number_of(void *info) { return *(int *)info; }
static void ignore(UNUSED void *info) {}
static void no_file(UNUSED RLFileDescriptorRef f, UNUSED RLOptionFlags types, UNUSED void *info) {}
static void no_socket(UNUSED RLSocketRef s, UNUSED RLSocketCallBackType type, UNUSED RLDataRef address,
                      UNUSED const void *data, UNUSED void *info)
{
}

static RLRunLoopSourceRef make_source_on(int i)
{
    RLRunLoopSourceContext1 context = {.version = 1, .info = &fds[i], .getPort = number_of, .perform = ignore};
    return RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&context);
}

static RLRunLoopSourceRef make_file_on(int i)
{
    RLFileDescriptorRef object = RLFileDescriptorCreate(NULL, fds[i], false, no_file, NULL);
    RLFileDescriptorEnableCallBacks(object, kRLFileDescriptorReadCallBack);
    objects[i] = object;
    return RLFileDescriptorCreateRunLoopSource(NULL, object, 0);
}

static RLRunLoopSourceRef make_socket_on(int i)
{
    RLSocketRef object = RLSocketCreateWithNative(NULL, fds[i], kRLSocketReadCallBack, no_socket, NULL);
    RLSocketSetSocketFlags(object, kRLSocketAutomaticallyReenableReadCallBack);
    objects[i] = object;
    return RLSocketCreateRunLoopSource(NULL, object, 0);
}

/* Prints and limits the bytes that the loop uses for each watched descriptor. The objects themselves are not measured: they come
 * from chunks, most of whose memory has not been touched yet. */
static void measure(const char *kind, RLRunLoopSourceRef (*make)(int i))
{
    size_t made, watched;
    for (int i = 0; i < many; i++)
        require((sources[i] = make(i)) != NULL);
    made = bytes_in_use();
    for (int i = 0; i < many; i++)
        RLRunLoopAddSource(rl, sources[i], kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1), kRLRunLoopRunTimedOut);
    watched = bytes_in_use();
    printf("%-24s %3zu bytes of the loop beyond the object\n", kind, (watched - made) / many);
    if (!SANITIZED) /* a sanitizer's allocator does not support mallinfo2() */
        ck_assert_int_le((watched - made) / many, most_beyond);
    for (int i = 0; i < many; i++) {
        RLRunLoopSourceInvalidate(sources[i]);
        RLRelease(sources[i]);
    }
}

START_TEST(memory_of_an_idle_version_1_source) { measure("version-1 source", make_source_on); }
END_TEST

START_TEST(memory_of_an_idle_descriptor_object)
{
    measure("RLFileDescriptor", make_file_on);
    for (int i = 0; i < many; i++) {
        RLFileDescriptorInvalidate((RLFileDescriptorRef)objects[i]);
        RLRelease(objects[i]);
    }
}
END_TEST

START_TEST(memory_of_an_idle_socket)
{
    measure("RLSocket", make_socket_on);
    for (int i = 0; i < many; i++) {
        RLSocketInvalidate((RLSocketRef)objects[i]);
        RLRelease(objects[i]);
    }
}
END_TEST

static void set_up(void)
{
    struct rlimit limit;
    rl = RLRunLoopGetCurrent();
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    make_pair(idle, SOCK_STREAM);
    for (int i = 0; i < many; i++)
        ck_assert_int_ge(fds[i] = dup(idle[0]), 0);
}

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("descriptor-memory");
    TCase *tcase = add_case(suite, "memory", 60);
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, memory_of_an_idle_version_1_source);
    tcase_add_test(tcase, memory_of_an_idle_descriptor_object);
    tcase_add_test(tcase, memory_of_an_idle_socket);
    return suite;
}
