/* Listings 3-17 to 3-19: a thread checks in with the main thread through Core Foundation's message ports. The
 * functions of Multiprocessing Services that they call are implemented with POSIX threads here. */
#include <CoreFoundation/CoreFoundation.h>
#include <pthread.h>
#include <stdio.h>

typedef int MPTaskID;
static pthread_t taskThread;
static void *taskParameter;

static OSStatus (*taskEntry)(void *);
static void *MPRun(void *info)
{
    (void)info;
    taskEntry(taskParameter);
    return NULL;
}

static OSStatus MPCreateTask(OSStatus (*entryPoint)(void *), void *parameter, size_t stackSize, void *notifyQueue,
                             void *terminationParameter1, void *terminationParameter2, int options, MPTaskID *task)
{
    (void)stackSize, (void)notifyQueue, (void)terminationParameter1, (void)terminationParameter2, (void)options;
    *task = 1;
    taskEntry = entryPoint;
    taskParameter = parameter;
    return pthread_create(&taskThread, NULL, MPRun, NULL);
}

static MPTaskID MPCurrentTaskID(void) { return 1; }
static void MPExit(int status) { pthread_exit((void *)(long)status); }

/* ---- What the listings leave to the program ---- */

static CFMessagePortRef activeThread;

static void AddPortToListOfActiveThreads(CFMessagePortRef messagePort)
{
    char name[64] = "";
    CFStringGetCString(CFMessagePortGetName(messagePort), name, sizeof name, kCFStringEncodingASCII);
    printf("checked in: %s\n", name);
    activeThread = (CFMessagePortRef)CFRetain(messagePort);
    CFRunLoopStop(CFRunLoopGetCurrent());
}

static CFDataRef ProcessClientRequest(CFMessagePortRef local, SInt32 msgid, CFDataRef data, void *info)
{
    (void)local, (void)data;
    CFMessagePortRef mainThreadPort = info;
    printf("request %d; %s main thread's port\n", (int)msgid, CFMessagePortIsRemote(mainThreadPort) ? "has the" : "no");
    CFRelease(mainThreadPort);
    CFRunLoopStop(CFRunLoopGetCurrent());
    return CFDataCreate(NULL, (const UInt8 *)"bye", 3);
}

/* ---- Listing 3-18: receiving the checkin message ---- */

#define kCheckinMessage 100

// Main thread port message handler
CFDataRef MainThreadResponseHandler(CFMessagePortRef local, SInt32 msgid, CFDataRef data, void *info)
{
    (void)local, (void)info;
    if (msgid == kCheckinMessage) {
        CFMessagePortRef messagePort;
        CFStringRef threadPortName;
        CFIndex bufferLength = CFDataGetLength(data);
        UInt8 *buffer = CFAllocatorAllocate(NULL, bufferLength, 0);

        CFDataGetBytes(data, CFRangeMake(0, bufferLength), buffer);
        threadPortName = CFStringCreateWithBytes(NULL, buffer, bufferLength, kCFStringEncodingASCII, FALSE);

        // You must obtain a remote message port by name.
        messagePort = CFMessagePortCreateRemote(NULL, (CFStringRef)threadPortName);

        if (messagePort) {
            // Retain and save the thread's comm port for future reference.
            AddPortToListOfActiveThreads(messagePort);

            // Since the port is retained by the previous function, release
            // it here.
            CFRelease(messagePort);
        }

        // Clean up.
        CFRelease(threadPortName);
        CFAllocatorDeallocate(NULL, buffer);
    } else {
        // Process other messages.
    }

    return NULL;
}

/* ---- Listing 3-19: setting up the thread structures ---- */

OSStatus ServerThreadEntryPoint(void *param)
{
    // Create the remote port to the main thread.
    CFMessagePortRef mainThreadPort;
    CFStringRef portName = (CFStringRef)param;

    mainThreadPort = CFMessagePortCreateRemote(NULL, portName);

    // Free the string that was passed in param.
    CFRelease(portName);

    // Create a port for the worker thread.
    CFStringRef myPortName = CFStringCreateWithFormat(NULL, NULL, CFSTR("com.MyApp.Thread-%d"), MPCurrentTaskID());

    // Store the port in this thread's context info for later reference.
    CFMessagePortContext context = {0, mainThreadPort, NULL, NULL, NULL};
    Boolean shouldFreeInfo;

    CFMessagePortRef myPort =
        CFMessagePortCreateLocal(NULL, myPortName, &ProcessClientRequest, &context, &shouldFreeInfo);

    if (shouldFreeInfo) {
        // Couldn't create a local port, so kill the thread.
        MPExit(0);
    }

    CFRunLoopSourceRef rlSource = CFMessagePortCreateRunLoopSource(NULL, myPort, 0);
    if (!rlSource) {
        // Couldn't create a local port, so kill the thread.
        MPExit(0);
    }

    // Add the source to the current run loop.
    CFRunLoopAddSource(CFRunLoopGetCurrent(), rlSource, kCFRunLoopDefaultMode);

    // Once installed, these can be freed.
    CFRelease(myPort);
    CFRelease(rlSource);

    // Package up the port name and send the check-in message.
    CFDataRef outData;
    CFIndex stringLength = CFStringGetLength(myPortName);
    UInt8 *buffer = CFAllocatorAllocate(NULL, stringLength, 0);

    CFStringGetBytes(myPortName, CFRangeMake(0, stringLength), kCFStringEncodingASCII, 0, FALSE, buffer, stringLength,
                     NULL);

    outData = CFDataCreate(NULL, buffer, stringLength);

    CFMessagePortSendRequest(mainThreadPort, kCheckinMessage, outData, 0.1, 0.0, NULL, NULL);

    // Clean up thread data structures.
    CFRelease(outData);
    CFAllocatorDeallocate(NULL, buffer);
    CFRelease(myPortName);

    // Enter the run loop.
    CFRunLoopRun();
    return 0;
}

/* ---- Listing 3-17: attaching a Core Foundation message port to a new thread ---- */

#define kThreadStackSize (8 * 4096)

OSStatus MySpawnThread(void)
{
    // Create a local port for receiving responses.
    CFStringRef myPortName;
    CFMessagePortRef myPort;
    CFRunLoopSourceRef rlSource;
    CFMessagePortContext context = {0, NULL, NULL, NULL, NULL};
    Boolean shouldFreeInfo;

    // Create a string with the port name.
    myPortName = CFStringCreateWithFormat(NULL, NULL, CFSTR("com.myapp.MainThread"));

    // Create the port.
    myPort = CFMessagePortCreateLocal(NULL, myPortName, &MainThreadResponseHandler, &context, &shouldFreeInfo);

    if (myPort != NULL) {
        // The port was successfully created.
        // Now create a run loop source for it.
        rlSource = CFMessagePortCreateRunLoopSource(NULL, myPort, 0);

        if (rlSource) {
            // Add the source to the current run loop.
            CFRunLoopAddSource(CFRunLoopGetCurrent(), rlSource, kCFRunLoopDefaultMode);

            // Once installed, these can be freed.
            CFRelease(myPort);
            CFRelease(rlSource);
        }
    }

    // Create the thread and continue processing.
    MPTaskID taskID;
    return (MPCreateTask(&ServerThreadEntryPoint, (void *)myPortName, kThreadStackSize, NULL, NULL, NULL, 0, &taskID));
}

int main(void)
{
    if (MySpawnThread() != 0)
        return 1;
    CFRunLoopRun(); /* until the thread has checked in */
    CFDataRef reply = NULL;
    SInt32 result = CFMessagePortSendRequest(activeThread, 200, NULL, 10, 10, kCFRunLoopDefaultMode, &reply);
    printf("result %d, %ld bytes\n", (int)result, reply ? (long)CFDataGetLength(reply) : -1);
    if (reply)
        CFRelease(reply);
    CFRelease(activeThread);
    pthread_join(taskThread, NULL);
    return 0;
}
