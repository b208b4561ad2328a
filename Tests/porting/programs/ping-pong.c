/* Ping-pong over two pipes with CFFileDescriptor, modeled on the sample in its documentation: two threads, each with
   a run loop, and callbacks that have to be enabled again each time. */
#include <CoreFoundation/CFFileDescriptor.h>
#include <CoreFoundation/CFRunLoop.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { kThrows = 2000 };

typedef struct {
    int readEnd, writeEnd;
    long catches, wrong;
    Boolean sawEnd, onMainLoop, stillValid;
} Player;

/* Throws a ball, which counts its throws. After the last throw the pipe is closed instead. */
static void Throw(Player *player, int ball)
{
    if (ball == kThrows)
        close(player->writeEnd);
    else if (write(player->writeEnd, &ball, sizeof ball) != (ssize_t)sizeof ball)
        player->wrong++;
}

static void Caught(CFFileDescriptorRef fdref, CFOptionFlags callBackTypes, void *info)
{
    Player *player = (Player *)info;
    int ball = 0;
    ssize_t size = read(CFFileDescriptorGetNativeDescriptor(fdref), &ball, sizeof ball);
    player->onMainLoop = CFRunLoopGetCurrent() == CFRunLoopGetMain();
    player->wrong += callBackTypes != kCFFileDescriptorReadCallBack;
    if (size == 0) {
        player->sawEnd = TRUE;
        CFFileDescriptorInvalidate(fdref);    /* closes the descriptor */
        CFRunLoopStop(CFRunLoopGetCurrent()); /* the main thread's loop would keep waiting, although it is empty */
        return;
    }
    player->wrong += size != (ssize_t)sizeof ball || ball / 2 != player->catches;
    player->catches++;
    CFFileDescriptorEnableCallBacks(fdref, kCFFileDescriptorReadCallBack); /* callbacks are one-shot */
    Throw(player, ball + 1);
}

static void Play(Player *player, Boolean begins)
{
    CFFileDescriptorContext context = {0, player, NULL, NULL, NULL};
    CFFileDescriptorRef fdref = CFFileDescriptorCreate(kCFAllocatorDefault, player->readEnd, TRUE, Caught, &context);
    CFRunLoopSourceRef source = CFFileDescriptorCreateRunLoopSource(kCFAllocatorDefault, fdref, 0);
    CFFileDescriptorEnableCallBacks(fdref, kCFFileDescriptorReadCallBack);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CFRelease(source);
    if (begins)
        Throw(player, 0);
    CFRunLoopRun(); /* until the end has been reached */
    player->stillValid = CFFileDescriptorIsValid(fdref);
    CFRelease(fdref);
}

static void *PlayInThread(void *info)
{
    Player *player = (Player *)info;
    Play(player, FALSE);
    close(player->writeEnd); /* the other player's pipe reaches its end */
    return NULL;
}

static void Print(const char *name, const Player *player)
{
    printf("%s: %ld catches in %s, %ld wrong, %s, %s\n", name, player->catches,
           player->onMainLoop ? "the main loop" : "another loop", player->wrong,
           player->sawEnd ? "saw the end" : "saw no end", player->stillValid ? "valid" : "invalid");
}

int main(void)
{
    int there[2], back[2];
    pthread_t thread;
    if (pipe(there) != 0 || pipe(back) != 0)
        return 1;
    Player ping = {back[0], there[1], 0, 0, FALSE, FALSE, FALSE};
    Player pong = {there[0], back[1], 0, 0, FALSE, FALSE, FALSE};
    if (pthread_create(&thread, NULL, PlayInThread, &pong) != 0)
        return 1;
    Play(&ping, TRUE);
    pthread_join(thread, NULL);
    Print("ping", &ping);
    Print("pong", &pong);
    printf("the pipes are %s\n", close(there[0]) != 0 && close(back[0]) != 0 ? "closed" : "still open");
    return 0;
}
