/* curl.c - three concurrent libcurl transfers (adapters/curl.h). The web server runs in the same loop. */
#include <RunLoop/adapters/curl.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

enum { transferCount = 3 };

static CURLM *multi;
static int fetched[transferCount], ended;

static RLSocketRef addToLoop(RLSocketRef s)
{
    RLRunLoopSourceRef source = s != NULL ? RLSocketCreateRunLoopSource(kRLAllocatorDefault, s, 0) : NULL;
    if (source == NULL)
        exit((perror("curl"), 1));
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRelease(source);
    return s;
}

/* ---- The server: sends the same response to every request, after a delay ---- */

static void answer(void *client)
{
    static const char text[] = "HTTP/1.0 200 OK\r\n\r\nhello";
    RLSocketSendBytes(client, NULL, (const uint8_t *)text, sizeof text - 1);
    RLSocketInvalidate(client); /* closing the connection ends the response */
    RLRelease(client);
}

static void hear(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data, void *info)
{
    (void)type, (void)address, (void)info;
    if (RLDataGetLength(data) == 0)
        return;
    RLRunLoopPerformFunctionAfterDelay(RLRunLoopGetCurrent(), kRLRunLoopDefaultMode, answer, s, 0.01);
}

static void acceptClient(RLSocketRef s, RLSocketCallBackType type, RLDataRef address, const void *data, void *info)
{
    (void)s, (void)type, (void)address, (void)info;
    addToLoop(RLSocketCreateWithNative(NULL, *(const RLSocketNativeHandle *)data, kRLSocketDataCallBack, hear, NULL));
}

/* ---- The client ---- */

static size_t receive(char *bytes, size_t size, size_t count, void *info)
{
    (void)bytes;
    *(int *)info += (int)count;
    return size * count;
}

static void done(CURL *easy, CURLcode result, void *info)
{
    printf("a transfer has ended: %s\n", curl_easy_strerror(result));
    curl_multi_remove_handle(multi, easy);
    curl_easy_cleanup(easy);
    if (++ended == transferCount)
        RLSocketInvalidate(info); /* now nothing is left in the loop */
}

int main(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    RLDataRef address = RLDataCreate(NULL, (const uint8_t *)&any, sizeof any);
    RLSocketSignature signature = {PF_INET, SOCK_STREAM, IPPROTO_TCP, address};
    RLSocketRef listener =
        addToLoop(RLSocketCreateWithSocketSignature(NULL, &signature, kRLSocketAcceptCallBack, acceptClient, NULL));
    RLRelease(address);
    address = RLSocketCopyAddress(listener); /* with the port that the system has chosen */
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/",
             ntohs(((const struct sockaddr_in *)RLDataGetBytePtr(address))->sin_port));
    RLRelease(address);

    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    RLCurlMultiRef curl = RLCurlMultiAdd(multi, kRLRunLoopDefaultMode, done, listener);
    for (int i = 0; i < transferCount; i++) {
        CURL *easy = curl_easy_init();
        curl_easy_setopt(easy, CURLOPT_URL, url);
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, &fetched[i]);
        curl_multi_add_handle(multi, easy);
    }
    RLRunLoopRun(); /* until nothing is left in the loop */
    for (int i = 0; i < transferCount; i++)
        printf("%d bytes\n", fetched[i]);
    RLCurlMultiRemove(curl);
    RLRelease(listener);
    curl_multi_cleanup(multi);
    curl_global_cleanup();
    return ended == transferCount ? 0 : 1;
}
