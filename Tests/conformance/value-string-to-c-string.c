/* Values: GetLength counts UTF-16 units; GetCString copies all or nothing, and needs room for the final 0. */
#include "trace.h"

static void show_string(const char *label, CFStringRef string)
{
    char exact[5], small[4], roomy[64];
    note("length %ld", (long)CFStringGetLength(string));
    check("in 64", CFStringGetCString(string, roomy, sizeof roomy, kCFStringEncodingUTF8));
    note("%d bytes", (int)strlen(roomy));
    check("in 5", CFStringGetCString(string, exact, sizeof exact, kCFStringEncodingUTF8));
    check("in 4", CFStringGetCString(string, small, sizeof small, kCFStringEncodingUTF8));
    check("ASCII", CFStringGetCString(string, roomy, sizeof roomy, kCFStringEncodingASCII));
    show(label);
}

int main(void)
{
    show_string("four letters", CFSTR("mode"));
    show_string("empty", CFSTR(""));
    show_string("e acute", CFStringCreateWithCString(NULL, "\xc3\xa9", kCFStringEncodingUTF8));
    show_string("above U+FFFF", CFStringCreateWithCString(NULL, "\xf0\x9f\x94\x81", kCFStringEncodingUTF8));
    return 0;
}
