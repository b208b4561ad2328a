/* Values: strings made by a format, with numbers, C strings and objects. */
#include "trace.h"

static void see(const char *label, CFStringRef string)
{
    char buffer[600];
    if (string == NULL || !CFStringGetCString(string, buffer, sizeof buffer, kCFStringEncodingUTF8))
        strcpy(buffer, "NULL");
    note("[%s]", strlen(buffer) > 200 ? "long" : buffer);
    if (strlen(buffer) > 200)
        note("%zu", strlen(buffer));
    show(label);
    if (string != NULL)
        CFRelease(string);
}

int main(void)
{
    see("plain", CFStringCreateWithFormat(NULL, NULL, CFSTR("just 100%% text")));
    see("integers", CFStringCreateWithFormat(NULL, NULL, CFSTR("%d %5d|%-5d|%05d %i %u %x %X %o"), -1, 42, 42, 42, 7,
                                             4000000000u, 255, 255, 8));
    see("long ones", CFStringCreateWithFormat(NULL, NULL, CFSTR("%ld %lu %lld %llx %zu"), -5000000000L, 5000000000UL,
                                              -5000000000LL, 0xABCDEF0123LL, sizeof(int)));
    see("doubles",
        CFStringCreateWithFormat(NULL, NULL, CFSTR("%f %.2f %8.3f %e %g"), 1.5, 3.14159, 2.5, 12345.678, 0.25));
    see("width from an argument", CFStringCreateWithFormat(NULL, NULL, CFSTR("%*d|%.*f"), 6, 42, 3, 1.0));
    see("C strings", CFStringCreateWithFormat(NULL, NULL, CFSTR("%s-%.2s-%c"), "abc", "wxyz", 'Q'));
    see("objects", CFStringCreateWithFormat(NULL, NULL, CFSTR("<%@> %@ %d"), CFSTR("a string"), CFSTR("b"), 3));
    char many[301];
    memset(many, 'x', 300);
    many[300] = 0;
    see("long text", CFStringCreateWithFormat(NULL, NULL, CFSTR("%s%s"), many, "end"));
    see("nothing", CFStringCreateWithFormat(NULL, NULL, CFSTR("")));
    return 0;
}
