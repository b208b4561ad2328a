/** @file openssl.h
 *  TLS: OpenSSL (1.1.1 or later) between a stream and its descriptor. Static functions; link with -lssl -lcrypto.
 *  Example: examples/tls.c
 *
 *  Create an SSL_CTX as usual (certificates, keys, protocols), and start TLS on a connected or connecting stream:
 *
 *      RLStreamRef stream = RLStreamCreateConnectedToAddress(NULL, address, callout, &context);
 *      RLStreamStartTLSAsClient(stream, ctx, "www.example.org");
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), stream, kRLRunLoopDefaultMode);
 *
 *  From then on the stream is used like any other (RLStream.h), but its bytes are encrypted on the connection. Bytes
 *  that are written before the handshake is complete wait for it. kRLStreamEventOpenCompleted reports that the
 *  handshake is complete. kRLStreamEventErrorOccurred reports a failure, with one of these results;
 *  RLStreamGetTLSReason() returns a description of it:
 *
 *      kRLStreamNotTrusted  the peer's certificate is invalid, is for another host, or has no trusted signature
 *      kRLStreamRefused     the peer does not speak TLS, has no protocol in common with this side, or does not trust
 *                           this side; but a client of TLS 1.3 is already open when its server examines its
 *                           certificate, so it then fails with kRLStreamFailed
 *      kRLStreamTruncated   the connection ended without a close_notify: the peer may have sent more
 *      kRLStreamFailed      with EPROTO: what was received later is invalid, or is a refusal
 *
 *  RLStreamShutdown() sends a close_notify after everything that was written, and kRLStreamEventEndEncountered reports
 *  that of the peer. RLStreamClose() sends none: the peer sees a truncated stream, unless the stream was shut down
 *  before.
 *
 *  TLS may begin in the middle of a stream (STARTTLS): call the function in the stream's callback. Bytes that arrived
 *  after those of that callback belong to TLS, so nothing that was sent in the clear before is mistaken for a part of
 *  it. Renegotiation is refused. A paused stream does not perform the handshake. If a peer keeps asking for new keys
 *  but reads no answers, the stream stops reading from it.
 *
 *  Not supported: callbacks of the SSL_CTX that suspend a handshake until something else has happened
 *  (SSL_ERROR_WANT_CLIENT_HELLO_CB, WANT_X509_LOOKUP, WANT_RETRY_VERIFY, WANT_ASYNC) fail the stream with
 *  kRLStreamRefused, without a reason; and early data of TLS 1.3 is neither sent nor accepted. */
#ifndef RUNLOOPKIT_ADAPTERS_OPENSSL_H
#define RUNLOOPKIT_ADAPTERS_OPENSSL_H
#include <RunLoopKit/RLStreamFilter.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
RL_EXTERN_C_BEGIN

/* The info of the filter. Used under the stream's lock. */
typedef struct RLStreamTLS {
    SSL *ssl;
    unsigned long code; /* OpenSSL's error code of the failure; 0: none */
    long verified;      /* the result of verifying the certificate */
    int isOpen, isOver, holdsWrites;
    int hasShutDown; /* nothing can be sent any more, although OpenSSL answers requests for new keys */
} RLStreamTLS;

/* Sends to the stream what OpenSSL has encrypted. */
static inline void RLStreamTLSSend(RLStreamRef stream, RLStreamTLS *tls)
{
    char *bytes = NULL;
    BIO *out = SSL_get_wbio(tls->ssl);
    long length = BIO_get_mem_data(out, &bytes);
    if (length > 0 && !tls->hasShutDown)
        RLStreamFilterSend(stream, (const uint8_t *)bytes, length);
    (void)BIO_reset(out);
}

static inline void RLStreamTLSFail(RLStreamRef stream, RLStreamTLS *tls)
{
    RLStreamResult result = tls->isOpen ? kRLStreamFailed : kRLStreamRefused;
    tls->isOver = 1;
    tls->code = ERR_peek_last_error();
    tls->verified = SSL_get_verify_result(tls->ssl);
    if (!tls->isOpen && tls->verified != X509_V_OK && SSL_get_verify_mode(tls->ssl) != SSL_VERIFY_NONE)
        result = kRLStreamNotTrusted;
    ERR_clear_error();
    RLStreamTLSSend(stream, tls); /* the alert with the reason */
    RLStreamFilterFail(stream, result, EPROTO);
}

/* While a message that follows the handshake, such as a session ticket, has been received only in part, OpenSSL accepts
 * no bytes and sends no close_notify. After the peer's close_notify the rest of it will never arrive: writing then
 * fails. */
static inline void RLStreamTLSHoldWrites(RLStreamRef stream, RLStreamTLS *tls)
{
    int holds = tls->isOpen && SSL_in_init(tls->ssl) && (SSL_get_shutdown(tls->ssl) & SSL_RECEIVED_SHUTDOWN) == 0;
    if (holds == tls->holdsWrites)
        return;
    tls->holdsWrites = holds;
    RLStreamFilterHoldWrites(stream, (RLBoolean)holds);
}

/* Processes what was received: the handshake, then bytes for the program. */
static inline void RLStreamTLSAdvance(RLStreamRef stream, RLStreamTLS *tls)
{
    int result = 1;
    ERR_clear_error();
    if (!tls->isOpen && (result = SSL_do_handshake(tls->ssl)) == 1) {
        tls->isOpen = 1;
        RLStreamTLSSend(stream, tls);
        RLStreamFilterOpen(stream);
    }
    while (result > 0 && !tls->isOver) {
        uint8_t bytes[16384];
        ERR_clear_error();
        result = SSL_read(tls->ssl, bytes, (int)sizeof bytes);
        if (result > 0)
            RLStreamFilterDeliver(stream, bytes, result);
    }
    if (result > 0 || tls->isOver)
        return;
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        RLStreamTLSSend(stream, tls);
        RLStreamTLSHoldWrites(stream, tls);
        return;
    case SSL_ERROR_ZERO_RETURN:
        tls->isOver = 1;
        RLStreamTLSSend(stream, tls);
        RLStreamTLSHoldWrites(stream, tls);
        RLStreamFilterEnd(stream);
        return;
    default:
        RLStreamTLSFail(stream, tls);
    }
}

static inline void RLStreamTLSStart(RLStreamRef stream, void *info) { RLStreamTLSAdvance(stream, (RLStreamTLS *)info); }

static inline void RLStreamTLSReceive(RLStreamRef stream, const uint8_t *bytes, RLIndex length, void *info)
{
    RLStreamTLS *tls = (RLStreamTLS *)info;
    if (tls->isOver)
        return;
    if (length == 0) {
        tls->isOver = 1;
        RLStreamFilterFail(stream, kRLStreamTruncated, EPROTO);
        return;
    }
    if (BIO_write(SSL_get_rbio(tls->ssl), bytes, (int)length) != (int)length) {
        tls->isOver = 1;
        RLStreamFilterFail(stream, kRLStreamFailed, ENOMEM);
        return;
    }
    RLStreamTLSAdvance(stream, tls);
}

static inline void RLStreamTLSWrite(RLStreamRef stream, const uint8_t *bytes, RLIndex length, void *info)
{
    RLStreamTLS *tls = (RLStreamTLS *)info;
    while (length > 0) {
        int part = length < 65536 ? (int)length : 65536;
        ERR_clear_error();
        if (SSL_write(tls->ssl, bytes, part) != part) {
            RLStreamTLSFail(stream, tls);
            return;
        }
        RLStreamTLSSend(stream, tls);
        bytes += part;
        length -= part;
    }
}

static inline void RLStreamTLSShutdown(RLStreamRef stream, void *info)
{
    RLStreamTLS *tls = (RLStreamTLS *)info;
    ERR_clear_error();
    if (SSL_in_init(tls->ssl)) /* SSL_key_update() has been called: the closing message must follow the new key */
        SSL_do_handshake(tls->ssl);
    SSL_shutdown(tls->ssl);
    RLStreamTLSSend(stream, tls);
    tls->hasShutDown = 1;
}

static inline void RLStreamTLSRelease(void *info)
{
    SSL_free(((RLStreamTLS *)info)->ssl);
    free(info);
}

/** Starts TLS on a stream with an SSL that the program has configured.
 *  @param ssl  a new SSL, after SSL_set_connect_state() or SSL_set_accept_state(); it belongs to the stream if the
 *              result is 1. Its descriptor or BIOs are replaced.
 *  @return 1, or 0 with errno: EALREADY if the stream has a filter, EBADF if it is closed, ENOMEM. */
static inline RLBoolean RLStreamStartTLS(RLStreamRef stream, SSL *ssl)
{
    RLStreamTLS *tls = (RLStreamTLS *)calloc(1, sizeof *tls);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    RLStreamFilter filter;
    if (tls == NULL || in == NULL || out == NULL) {
        free(tls);
        BIO_free(in);
        BIO_free(out);
        errno = ENOMEM;
        return 0;
    }
    BIO_set_mem_eof_return(in, -1); /* an empty BIO is not at its end */
    SSL_set_bio(ssl, in, out);
    SSL_set_options(ssl, SSL_OP_NO_RENEGOTIATION);
    /* The program's context may set other modes: the filter accepts all that is written, reads until nothing is left,
     * and closes one direction at a time, with a message. */
    SSL_clear_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE);
    SSL_set_mode(ssl, SSL_MODE_AUTO_RETRY);
    SSL_set_quiet_shutdown(ssl, 0);
    tls->ssl = ssl;
    tls->verified = X509_V_OK;
    filter.version = 0;
    filter.info = tls;
    filter.release = RLStreamTLSRelease;
    filter.start = RLStreamTLSStart;
    filter.receive = RLStreamTLSReceive;
    filter.write = RLStreamTLSWrite;
    filter.shutdown = RLStreamTLSShutdown;
    if (RLStreamSetFilter(stream, &filter))
        return 1;
    free(tls);
    return 0;
}

/** Starts TLS on a stream to a server, whose certificate must be valid for the host.
 *  @param context  the program's context, with its trusted certificates: SSL_CTX_set_default_verify_paths() and so on.
 *  @param host     the host name for which the certificate must be valid, and which is sent to the server (SNI); or a
 *                  numeric address for which it must be valid. The form is that of getaddrinfo(): a dot at the end, and
 *                  the zone of an address ("%eth0"), are ignored.
 *  @return 1, or 0 with the errno of RLStreamStartTLS(); EINVAL if host is NULL, empty or too long. */
static inline RLBoolean RLStreamStartTLSAsClient(RLStreamRef stream, SSL_CTX *context, const char *host)
{
    SSL *ssl;
    char name[256];
    size_t length = host != NULL ? strlen(host) : 0;
    if (length > 0 && strchr(host, ':') != NULL) /* only an address contains a colon */
        length = strcspn(host, "%");
    else if (length > 0 && host[length - 1] == '.')
        length--;
    if (length == 0 || length >= sizeof name) { /* OpenSSL would not check the name */
        errno = EINVAL;
        return 0;
    }
    memcpy(name, host, length);
    name[length] = 0;
    ssl = SSL_new(context);
    /* Only names are sent to servers, not addresses. */
    if (ssl == NULL || (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) != 1 &&
                        (SSL_set1_host(ssl, name) != 1 || SSL_set_tlsext_host_name(ssl, name) != 1))) {
        SSL_free(ssl);
        ERR_clear_error();
        errno = ENOMEM;
        return 0;
    }
    SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    SSL_set_connect_state(ssl);
    if (RLStreamStartTLS(stream, ssl))
        return 1;
    SSL_free(ssl);
    return 0;
}

/** Starts TLS on a stream from a client.
 *  @param context  the program's context, with a certificate and its key. It also determines whether clients must
 *                  present a certificate.
 *  @return 1, or 0 with the errno of RLStreamStartTLS(). */
static inline RLBoolean RLStreamStartTLSAsServer(RLStreamRef stream, SSL_CTX *context)
{
    SSL *ssl = SSL_new(context);
    if (ssl == NULL) {
        ERR_clear_error();
        errno = ENOMEM;
        return 0;
    }
    SSL_set_accept_state(ssl);
    if (RLStreamStartTLS(stream, ssl))
        return 1;
    SSL_free(ssl);
    return 0;
}

/** Returns the SSL of a stream, for queries such as SSL_get_version() and for SSL_key_update(), in the stream's callback;
 *  NULL if it has none. New keys are sent with what is written next. */
static inline SSL *RLStreamGetSSL(RLStreamRef stream)
{
    RLStreamTLS *tls = (RLStreamTLS *)RLStreamGetFilterInfo(stream, RLStreamTLSReceive);
    return tls != NULL ? tls->ssl : NULL;
}

/** Returns OpenSSL's description of why TLS failed; NULL if it did not fail, or the stream was closed. */
static inline const char *RLStreamGetTLSReason(RLStreamRef stream)
{
    RLStreamTLS *tls = (RLStreamTLS *)RLStreamGetFilterInfo(stream, RLStreamTLSReceive);
    if (tls == NULL)
        return NULL;
    if (tls->verified != X509_V_OK)
        return X509_verify_cert_error_string(tls->verified);
    return tls->code != 0 ? ERR_reason_error_string(tls->code) : NULL;
}

RL_EXTERN_C_END
#endif
