/* What adapters/curl.h promises. Called with a scenario and the address of a web server, which answers /length/N
 * with N bytes, /never never, and a POST with the length of its data. */
#include "check.h"
#include <RunLoop/adapters/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { many = 40, big = 1000000 };

typedef struct Transfer {
    CURL *easy;
    long length; /* of the received data */
    CURLcode result;
    int isDone;
} Transfer;

static const char *server;
static CURLM *multi;
static RLCurlMultiRef curl;
static Transfer transfers[many];
static int nests, removes;

static size_t receive(char *bytes, size_t size, size_t count, void *info)
{
    (void)bytes;
    (void)size;
    ((Transfer *)info)->length += (long)count;
    if (nests > 0 && --nests == 0) {
        /* Data that the other transfers receive meanwhile is not lost, and does not keep the loop awake. */
        int before = passes;
        CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 0) == kRLRunLoopRunTimedOut);
        CHECK(passes - before <= 2 * many);
    }
    return count;
}
static void done(CURL *easy, CURLcode result, void *info)
{
    Transfer *transfer = NULL;
    CHECK(info == &multi && curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&transfer) == CURLE_OK);
    CHECK(!transfer->isDone && transfer->easy == easy);
    transfer->isDone = 1;
    transfer->result = result;
    CHECK(curl_multi_remove_handle(multi, easy) == CURLM_OK);
    curl_easy_cleanup(easy);
    transfer->easy = NULL;
    calls++;
    if (removes) {
        RLCurlMultiRemove(curl);
        curl = NULL;
    }
}
static CURL *begin(int index, const char *path)
{
    char url[200];
    CURL *easy = transfers[index].easy = curl_easy_init();
    snprintf(url, sizeof url, "%s%s", server, path);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfers[index]);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfers[index]);
    CHECK(curl_multi_add_handle(multi, easy) == CURLM_OK);
    return easy;
}
static void run_to_the_end(void) { CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0) == kRLRunLoopRunFinished); }
static void check_lengths(int count, long length)
{
    CHECK(calls == count);
    for (int i = 0; i < count; i++)
        CHECK(transfers[i].result == CURLE_OK && transfers[i].length == length);
}

int main(int count, char **arguments)
{
    CHECK(count == 3);
    const char *scenario = arguments[1];
    server = arguments[2];
    RLRunLoopObserverRef observer = begin_counting_passes();
    CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    multi = curl_multi_init();
    if (strcmp(scenario, "added-before") == 0)
        begin(0, "/length/10");
    curl = RLCurlMultiAdd(multi, kRLRunLoopCommonModes, done, &multi);
    CHECK(curl != NULL);
    if (strcmp(scenario, "many") == 0 || strcmp(scenario, "nested") == 0) {
        /* Twice, so that connections are reused. */
        curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 5L);
        nests = strcmp(scenario, "nested") == 0 ? 60 : 0; /* in the middle of the transfers */
        for (int i = 0; i < many; i++)
            begin(i, "/length/100000");
        run_to_the_end();
        check_lengths(many, 100000);
        memset(transfers, 0, sizeof transfers);
        calls = 0;
        begin(0, "/length/100000");
        run_to_the_end();
        check_lengths(1, 100000);
    } else if (strcmp(scenario, "added-before") == 0) {
        run_to_the_end();
        check_lengths(1, 10);
    } else if (strcmp(scenario, "upload") == 0) {
        static char bytes[big];
        CURL *easy = begin(0, "/");
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, bytes);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)big);
        run_to_the_end();
        check_lengths(1, 7); /* the number of digits of its length */
    } else if (strcmp(scenario, "refused") == 0) {
        /* A port that is bound, so that no other program uses it, but does not listen. */
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof address;
        char url[50];
        int bound = socket(AF_INET, SOCK_STREAM, 0);
        CHECK(bind(bound, (struct sockaddr *)&address, length) == 0);
        CHECK(getsockname(bound, (struct sockaddr *)&address, &length) == 0);
        snprintf(url, sizeof url, "http://127.0.0.1:%d/", ntohs(address.sin_port));
        curl_easy_setopt(begin(0, "/"), CURLOPT_URL, url);
        run_to_the_end();
        close(bound);
        CHECK(calls == 1 && transfers[0].result == CURLE_COULDNT_CONNECT);
    } else if (strcmp(scenario, "timeout") == 0) {
        curl_easy_setopt(begin(0, "/never"), CURLOPT_TIMEOUT_MS, 300L);
        run_to_the_end();
        CHECK(calls == 1 && transfers[0].result == CURLE_OPERATION_TIMEDOUT);
        CHECK(passes <= 40);
    } else if (strcmp(scenario, "remove") == 0) {
        /* Called during another transfer, which is then left to the program. */
        removes = 1;
        begin(0, "/length/10");
        begin(1, "/never");
        run_to_the_end();
        CHECK(calls == 1 && curl == NULL && transfers[1].easy != NULL);
        CHECK(curl_multi_remove_handle(multi, transfers[1].easy) == CURLM_OK);
        curl_easy_cleanup(transfers[1].easy);
    } else {
        return 2;
    }
    if (curl != NULL)
        RLCurlMultiRemove(curl);
    CHECK(curl_multi_cleanup(multi) == CURLM_OK);
    curl_global_cleanup();
    end_counting_passes(observer);
    return 0;
}
