/* Values: formats with UTF-16 code units and strings, characters of Latin 1, C strings that are not UTF-8, unknown
 * conversions, and numbers whose text is special. */
#include "trace.h"

static void see(const char *label, CFStringRef string)
{
    char buffer[200] = "NULL";
    if (string != NULL)
        CFStringGetCString(string, buffer, sizeof buffer, kCFStringEncodingUTF8);
    note("[%s]", buffer);
    show(label);
    if (string != NULL)
        CFRelease(string);
}

static void number(double value)
{
    CFNumberRef object = CFNumberCreate(NULL, kCFNumberDoubleType, &value);
    see("a number", CFStringCreateWithFormat(NULL, NULL, CFSTR("%@"), object));
    CFRelease(object);
}

int main(void)
{
    static const UniChar units[] = {'a', 0x20AC, 0xD83D, 0xDE00, 0}, nothing[] = {0}, marked[] = {0xFEFF, 'a', 0};
    see("units", CFStringCreateWithFormat(NULL, NULL, CFSTR("<%C%C%C%C>"), 'a', 0x20AC, 0xD83D, 0xDE00));
    see("strings of units", CFStringCreateWithFormat(NULL, NULL, CFSTR("<%S|%S>"), units, nothing));
    see("parts of them", CFStringCreateWithFormat(NULL, NULL, CFSTR("<%.2S|%.0S>"), units, units));
    see("with a width", CFStringCreateWithFormat(NULL, NULL, CFSTR("<%6S|%-6.1S|%2S>"), units, units, units));
    see("Latin 1", CFStringCreateWithFormat(NULL, NULL, CFSTR("<%c%c%c>"), 'a', 0xE9, 0x80));
    see("low byte", CFStringCreateWithFormat(NULL, NULL, CFSTR("<%c>"), 0x20AC));
    see("not UTF-8", CFStringCreateWithFormat(NULL, NULL, CFSTR("<%s|%s|%s>"), "\xFF", "a\xC3", "good"));
    see("cut within a character", CFStringCreateWithFormat(NULL, NULL, CFSTR("<%.1s|%.2s>"), "\xC3\xA9", "\xC3\xA9"));
    see("padded", CFStringCreateWithFormat(NULL, NULL, CFSTR("<%5.1s|%-5.2s|%4s>"), "\xC3\xA9", "\xFF", "\xC3\xA9"));
    see("padded units", CFStringCreateWithFormat(NULL, NULL, CFSTR("<%5c|%-3c|%3c>"), 0xE9, 'a', 0x80));
    see("nothing", CFStringCreateWithFormat(NULL, NULL, CFSTR("<%9s|%-9S|%.1s>"), NULL, NULL, NULL));
    see("marks", CFStringCreateWithFormat(NULL, NULL, CFSTR("<%s|%.3s>"), "\xEF\xBB\xBFx", "\xEF\xBB\xBFx"));
    CFStringRef beginning = CFStringCreateWithFormat(NULL, NULL, CFSTR("%Cx"), 0xFEFF);
    note("%ld", (long)CFStringGetLength(beginning));
    see("a mark at the beginning", CFStringCreateWithFormat(NULL, NULL, CFSTR("%@"), beginning));
    see("of the format", CFStringCreateWithFormat(NULL, NULL, beginning, 0));
    see("two marks", CFStringCreateWithFormat(NULL, NULL, CFSTR("%s"), "\xEF\xBB\xBF\xEF\xBB\xBFx"));
    see("no text", CFStringCreateWithFormat(NULL, NULL, CFSTR("%s"), ""));
    CFRelease(beginning);
    see("a mark as a character", CFStringCreateWithFormat(NULL, NULL, CFSTR("%Ca"), 0xFEFF));
    see("a mark in units", CFStringCreateWithFormat(NULL, NULL, CFSTR("%S"), marked));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
    see("characters with a precision", CFStringCreateWithFormat(NULL, NULL, CFSTR("<%.0c|%3.0c>"), 'a', 'b'));
    see("unknown", CFStringCreateWithFormat(NULL, NULL, CFSTR("<%y%k%!%b>")));
    see("at the end", CFStringCreateWithFormat(NULL, NULL, CFSTR("100%")));
    see("no digits", CFStringCreateWithFormat(NULL, NULL, CFSTR("<%.s|%4.s>"), "ab", "ab"));
    see("length at the end", CFStringCreateWithFormat(NULL, NULL, CFSTR("x%l")));
#pragma GCC diagnostic pop
    number(0);
    number(-0.0);
    number(1);
    number(HUGE_VAL);
    number(-HUGE_VAL);
    see("not a number", CFStringCreateWithFormat(NULL, NULL, CFSTR("%@"), kCFNumberNaN));
    return 0;
}
