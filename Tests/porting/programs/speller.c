/* A service in a separate process and its client, on CFMessagePort: the client starts the service, which checks in
   by name; requests and replies, questions in the other direction while a reply is awaited, and the end of the
   service. */
#include <CoreFoundation/CoreFoundation.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { kCheckIn = 1, kSpell, kRemember, kHowMany, kQuit, kWhichCase };

static CFDataRef CopyData(const char *text)
{
    return CFDataCreate(kCFAllocatorDefault, (const UInt8 *)text, (CFIndex)strlen(text));
}

static CFStringRef CopyName(long number, const char *role)
{
    return CFStringCreateWithFormat(kCFAllocatorDefault, NULL, CFSTR("com.example.speller.%ld.%s"), number, role);
}

static void AddToCurrentLoop(CFMessagePortRef local)
{
    CFRunLoopSourceRef source = CFMessagePortCreateRunLoopSource(kCFAllocatorDefault, local, 0);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CFRelease(source);
}

/* ---- the service ---- */

typedef struct {
    CFMessagePortRef client;
    CFMutableArrayRef words; /* of CFData */
} Service;

static CFDataRef CopySpelling(Service *service, CFDataRef word)
{
    CFDataRef answer = NULL; /* the client serves this while it waits for the reply */
    if (CFMessagePortSendRequest(service->client, kWhichCase, NULL, 30, 30, kCFRunLoopDefaultMode, &answer) !=
        kCFMessagePortSuccess)
        return NULL;
    Boolean upper = CFDataGetLength(answer) > 0 && CFDataGetBytePtr(answer)[0] == 'U';
    CFMutableDataRef spelling = CFDataCreateMutable(kCFAllocatorDefault, 0);
    for (CFIndex i = 0; i < CFDataGetLength(word); i++) {
        UInt8 letter = CFDataGetBytePtr(word)[i];
        UInt8 pair[2] = {(UInt8)(upper ? toupper(letter) : letter), '-'};
        CFDataAppendBytes(spelling, pair, i + 1 < CFDataGetLength(word) ? 2 : 1);
    }
    CFRelease(answer);
    return spelling;
}

static CFDataRef Serve(CFMessagePortRef local, SInt32 msgid, CFDataRef data, void *info)
{
    Service *service = (Service *)info;
    char text[32];
    switch (msgid) {
    case kSpell:
        return CopySpelling(service, data);
    case kRemember:
        CFArrayAppendValue(service->words, data); /* keeps it */
        return NULL;
    case kHowMany:
        snprintf(text, sizeof text, "%ld", (long)CFArrayGetCount(service->words));
        return CopyData(text);
    case kQuit:
        CFMessagePortInvalidate(local);
        CFRunLoopStop(CFRunLoopGetCurrent()); /* the main thread's loop would keep waiting, although it is empty */
        return NULL;
    default:
        return NULL;
    }
}

static int ServiceMain(long number)
{
    CFStringRef name = CopyName(number, "service"), clientName = CopyName(number, "client");
    Service service = {CFMessagePortCreateRemote(kCFAllocatorDefault, clientName),
                       CFArrayCreateMutable(kCFAllocatorDefault, 0, &kCFTypeArrayCallBacks)};
    CFMessagePortContext context = {0, &service, NULL, NULL, NULL};
    CFMessagePortRef local = CFMessagePortCreateLocal(kCFAllocatorDefault, name, Serve, &context, NULL);
    if (local == NULL || service.client == NULL)
        return 1;
    AddToCurrentLoop(local);
    if (CFMessagePortSendRequest(service.client, kCheckIn, NULL, 30, 0, NULL, NULL) != kCFMessagePortSuccess)
        return 1;
    CFRunLoopRun();
    CFRelease(local);
    CFRelease(service.client);
    CFRelease(service.words);
    CFRelease(name);
    CFRelease(clientName);
    return 0;
}

/* ---- the client ---- */

static CFDataRef Answer(CFMessagePortRef local, SInt32 msgid, CFDataRef data, void *info)
{
    (void)local;
    (void)data;
    if (msgid == kCheckIn) {
        printf("the service has checked in\n");
        CFRunLoopStop(CFRunLoopGetCurrent());
        return NULL;
    }
    printf("asked for the case, %d times\n", ++*(int *)info);
    return CopyData("Upper");
}

static void ServiceEnded(CFMessagePortRef ms, void *info)
{
    (void)info;
    printf("the service has ended, its port is %s\n", CFMessagePortIsValid(ms) ? "valid" : "invalid");
    CFRunLoopStop(CFRunLoopGetCurrent());
}

/* Sends a word and prints the reply. */
static void Ask(CFMessagePortRef service, SInt32 msgid, const char *word)
{
    CFDataRef data = CopyData(word), reply = NULL;
    SInt32 result = CFMessagePortSendRequest(service, msgid, data, 30, 30, kCFRunLoopDefaultMode, &reply);
    if (reply != NULL) {
        printf("%s? %.*s\n", word, (int)CFDataGetLength(reply), (const char *)CFDataGetBytePtr(reply));
        CFRelease(reply);
    } else {
        printf("%s? result %d, no reply\n", word, (int)result);
    }
    CFRelease(data);
}

static void Tell(CFMessagePortRef service, SInt32 msgid, const char *word)
{
    CFDataRef data = CopyData(word);
    if (CFMessagePortSendRequest(service, msgid, data, 30, 0, NULL, NULL) != kCFMessagePortSuccess)
        printf("%s: not sent\n", word);
    CFRelease(data);
}

/* Uses a port that no loop serves: it accepts requests, and does not reply. */
static void AskNobody(CFStringRef name)
{
    CFMessagePortRef local = CFMessagePortCreateLocal(kCFAllocatorDefault, name, Answer, NULL, NULL);
    CFMessagePortRef remote = CFMessagePortCreateRemote(kCFAllocatorDefault, name);
    CFDataRef reply = NULL;
    SInt32 result = CFMessagePortSendRequest(remote, kSpell, NULL, 1, 0.01, kCFRunLoopDefaultMode, &reply);
    printf("no loop: %s\n", result == kCFMessagePortReceiveTimeout && reply == NULL ? "receive timeout" : "?");
    CFMessagePortInvalidate(local);
    CFRelease(remote);
    CFRelease(local);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return ServiceMain(strtol(argv[1], NULL, 10));

    char number[32];
    char *arguments[] = {argv[0], number, NULL};
    int status = -1, asked = 0;
    pid_t pid;
    snprintf(number, sizeof number, "%ld", (long)getpid());
    CFStringRef serviceName = CopyName(getpid(), "service"), name = CopyName(getpid(), "client");
    CFStringRef idleName = CopyName(getpid(), "idle");
    CFMessagePortContext context = {0, &asked, NULL, NULL, NULL};
    Boolean shouldFreeInfo = TRUE;
    CFMessagePortRef local = CFMessagePortCreateLocal(kCFAllocatorDefault, name, Answer, &context, &shouldFreeInfo);
    if (local == NULL || shouldFreeInfo)
        return 1;
    AddToCurrentLoop(local);
    printf("before: %s\n", CFMessagePortCreateRemote(kCFAllocatorDefault, serviceName) == NULL ? "no service" : "?");
    if (posix_spawn(&pid, argv[0], NULL, NULL, arguments, environ) != 0)
        return 1;
    if (CFRunLoopRunInMode(kCFRunLoopDefaultMode, 60, FALSE) != kCFRunLoopRunStopped)
        return 1;

    CFMessagePortRef service = CFMessagePortCreateRemote(kCFAllocatorDefault, serviceName);
    CFMessagePortSetInvalidationCallBack(service, ServiceEnded);
    printf("%s port of the right name: %s\n", CFMessagePortIsRemote(service) ? "remote" : "local",
           CFEqual(CFMessagePortGetName(service), serviceName) ? "yes" : "no");
    Ask(service, kSpell, "loop");
    Ask(service, kSpell, "mode");
    Tell(service, kRemember, "source");
    Tell(service, kRemember, "timer");
    Tell(service, kRemember, "observer");
    Ask(service, kHowMany, "how many words");
    Ask(service, 99, "something unknown");
    AskNobody(idleName);

    Tell(service, kQuit, "quit");
    if (CFMessagePortIsValid(service))
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, 60, FALSE);
    waitpid(pid, &status, 0);
    printf("it returned %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    printf("after: %s\n",
           CFMessagePortSendRequest(service, kSpell, NULL, 1, 1, kCFRunLoopDefaultMode, NULL) == kCFMessagePortIsInvalid
               ? "is invalid"
               : "?");
    CFMessagePortInvalidate(local);
    CFRelease(service);
    CFRelease(local);
    CFRelease(serviceName);
    CFRelease(name);
    CFRelease(idleName);
    return 0;
}
