/* Values: strings created from a format, with numbers, C strings and objects. */
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
    static const double numbers[] = {3, 2.5, 0.1, -1e-4, 1e15, 1e20, 1.0 / 3};
    for (int i = 0; i < 7; i++) {
        CFNumberRef number = CFNumberCreate(NULL, kCFNumberDoubleType, &numbers[i]);
        see("a number", CFStringCreateWithFormat(NULL, NULL, CFSTR("%@"), number));
        CFRelease(number);
    }
    int whole = -42;
    CFNumberRef integer = CFNumberCreate(NULL, kCFNumberIntType, &whole);
    see("more objects", CFStringCreateWithFormat(NULL, NULL, CFSTR("%@ %@"), integer, kCFBooleanTrue));
    CFRelease(integer);
    see("lengths below 0", CFStringCreateWithFormat(NULL, NULL, CFSTR("%.*s|%*d|%*.*f"), -1, "all", -5, 3, 8, -1, 2.5));
    char many[301];
    memset(many, 'x', 300);
    many[300] = 0;
    see("long text", CFStringCreateWithFormat(NULL, NULL, CFSTR("%s%s"), many, "end"));
    char more[2002];
    memset(more, 'y', 2001);
    more[2001] = 0;
    CFStringRef object = CFStringCreateWithCString(NULL, more, kCFStringEncodingUTF8);
    CFStringRef around = CFStringCreateWithFormat(NULL, NULL, CFSTR("<%@>"), object);
    note("%ld", CFStringGetLength(around));
    show("long object");
    CFRelease(around);
    CFRelease(object);
    see("nothing", CFStringCreateWithFormat(NULL, NULL, CFSTR("")));
    return 0;
}
