/* Listing 3-16, "Registering a message port", with CFMessagePort. */
#include <CoreFoundation/CoreFoundation.h>
#include <stdio.h>

static CFDataRef handlePortMessage(CFMessagePortRef local, SInt32 msgid, CFDataRef data, void *info)
{
    (void)info;
    printf("message %d, %ld bytes, %s\n", (int)msgid, (long)CFDataGetLength(data),
           CFEqual(CFMessagePortGetName(local), CFSTR("MyPortName")) ? "MyPortName" : "another name");
    return NULL;
}

int main(void)
{
    // The name must be unique.
    CFMessagePortRef localPort = CFMessagePortCreateLocal(NULL, CFSTR("MyPortName"), &handlePortMessage, NULL, NULL);

    // Configure the object and add it to the current run loop.
    CFRunLoopSourceRef source = CFMessagePortCreateRunLoopSource(NULL, localPort, 0);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CFRelease(source);

    CFMessagePortRef remotePort = CFMessagePortCreateRemote(NULL, CFSTR("MyPortName"));
    CFDataRef data = CFDataCreate(NULL, (const UInt8 *)"data", 4);
    SInt32 sent = CFMessagePortSendRequest(remotePort, 7, data, 10, 0, NULL, NULL);
    printf("%s\n", sent == kCFMessagePortSuccess ? "sent" : "not sent");
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 10, TRUE);
    CFRelease(data);
    CFRelease(remotePort);

    CFMessagePortInvalidate(localPort);
    CFRelease(localPort);
    printf("%s\n", CFMessagePortCreateRemote(NULL, CFSTR("MyPortName")) == NULL ? "the name is free" : "still there");
    return 0;
}
