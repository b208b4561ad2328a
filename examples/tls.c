/* tls.c - TLS on streams: a client that trusts the server's certificate, and one that does not. Once TLS has been
 * started, a stream is used as usual. (Compile with -lssl -lcrypto.) */
#include <RunLoopKit/RunLoopKit.h>
#include <RunLoopKit/adapters/openssl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <sys/socket.h>

static void fail(const char *what)
{
    fprintf(stderr, "tls: %s\n", what);
    exit(1);
}

/* Creates a self-signed certificate for "localhost", and a server context that presents it. */
static SSL_CTX *makeServer(X509 **certificate)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *maker = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
    X509 *made = X509_new();
    SSL_CTX *server = SSL_CTX_new(TLS_server_method());
    if (EVP_PKEY_keygen_init(maker) != 1 || EVP_PKEY_CTX_set_ec_paramgen_curve_nid(maker, NID_X9_62_prime256v1) != 1 ||
        EVP_PKEY_keygen(maker, &key) != 1)
        fail("no key");
    X509_NAME *name = X509_get_subject_name(made);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1, 0);
    X509_set_issuer_name(made, name);
    X509_gmtime_adj(X509_getm_notBefore(made), 0);
    X509_gmtime_adj(X509_getm_notAfter(made), 3600);
    X509_set_pubkey(made, key);
    if (X509_sign(made, key, EVP_sha256()) == 0 || SSL_CTX_use_certificate(server, made) != 1 ||
        SSL_CTX_use_PrivateKey(server, key) != 1)
        fail("no certificate");
    EVP_PKEY_CTX_free(maker);
    EVP_PKEY_free(key);
    *certificate = made;
    return server;
}

static void serve(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    (void)info;
    if (event->type == kRLStreamEventHasBytesAvailable) {
        printf("the server receives: %.*s", (int)event->length, (const char *)event->bytes);
        RLStreamWrite(stream, "and a good day to you\n", 22);
        RLStreamShutdown(stream); /* sends the closing alert once that is written */
    } else if (event->type == kRLStreamEventErrorOccurred) {
        printf("the server fails: %s\n", RLStreamResultGetText(event->result, event->error));
        RLStreamClose(stream);
    } else if (event->type == kRLStreamEventEndEncountered) {
        RLStreamClose(stream);
    }
}

static void call(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    int *answered = info;
    switch (event->type) {
    case kRLStreamEventOpenCompleted:
        printf("%s\n", SSL_get_version(RLStreamGetSSL(stream)));
        break;
    case kRLStreamEventHasBytesAvailable:
        printf("the client receives: %.*s", (int)event->length, (const char *)event->bytes);
        *answered = 1;
        break;
    case kRLStreamEventErrorOccurred:
        printf("the client fails: %s\n", RLStreamResultGetText(event->result, event->error));
        RLStreamClose(stream);
        break;
    default: /* end-of-stream, announced by the server: nothing was truncated */
        RLStreamShutdown(stream);
        RLStreamClose(stream);
    }
}

/* Connects a client with a server. Returns whether the client has received an answer. */
static int meet(SSL_CTX *clients, SSL_CTX *servers)
{
    int ends[2], answered = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        fail("no sockets");
    RLStreamContext context = {.info = &answered};
    RLStreamRef client = RLScheduleSource(RLStreamCreate(NULL, ends[0], 1, call, &context));
    RLStreamRef server = RLScheduleSource(RLStreamCreate(NULL, ends[1], 1, serve, NULL));
    if (!RLStreamStartTLSAsClient(client, clients, "localhost") || !RLStreamStartTLSAsServer(server, servers))
        fail("TLS does not start");
    RLStreamSetReadDelimiter(client, "\n", 1, 100);
    RLStreamSetReadDelimiter(server, "\n", 1, 100);
    RLStreamWrite(client, "good day\n", 9); /* waits until the server is verified */
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0);
    return answered;
}

int main(void)
{
    X509 *certificate;
    SSL_CTX *servers = makeServer(&certificate), *clients = SSL_CTX_new(TLS_client_method());
    SSL_CTX *strangers = SSL_CTX_new(TLS_client_method());
    X509_STORE_add_cert(SSL_CTX_get_cert_store(clients), certificate); /* the certificate that the client trusts */
    int ok = meet(clients, servers) && !meet(strangers, servers);
    X509_free(certificate);
    SSL_CTX_free(servers);
    SSL_CTX_free(clients);
    SSL_CTX_free(strangers);
    return ok ? 0 : 1;
}
