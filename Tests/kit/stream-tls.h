/* Helpers shared by the TLS tests: contexts, with a certificate created by the test. */
#ifndef RUNLOOP_TESTS_KIT_STREAM_TLS_H
#define RUNLOOP_TESTS_KIT_STREAM_TLS_H
#include "stream.h"

#include <RunLoopKit/adapters/openssl.h>
#include <openssl/evp.h>

static SSL_CTX *ours, *theirs; /* of the client, of the server */
static X509 *certificate;
static EVP_PKEY *key;

static inline void add_extension(int kind, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    require(extension != NULL && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

/* Creates a self-signed certificate for "localhost". */
static inline void make_certificate(long from, long to)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
    require(EVP_PKEY_keygen_init(context) == 1 &&
            EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1);
    require(EVP_PKEY_keygen(context, &key) == 1);
    EVP_PKEY_CTX_free(context);
    certificate = X509_new();
    require(X509_set_version(certificate, 2) == 1 && ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), from);
    X509_gmtime_adj(X509_getm_notAfter(certificate), to);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                               (const unsigned char *)"localhost", -1, -1, 0);
    require(X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) == 1);
    require(X509_set_pubkey(certificate, key) == 1);
    add_extension(NID_basic_constraints, "critical,CA:TRUE");
    add_extension(NID_subject_alt_name, "DNS:localhost,IP:fe80::1");
    require(X509_sign(certificate, key, EVP_sha256()) > 0);
}

static inline void make_contexts(void)
{
    if (certificate == NULL)
        make_certificate(-86400, 86400);
    ours = SSL_CTX_new(TLS_client_method());
    theirs = SSL_CTX_new(TLS_server_method());
    require(SSL_CTX_use_certificate(theirs, certificate) == 1 && SSL_CTX_use_PrivateKey(theirs, key) == 1);
    require(X509_STORE_add_cert(SSL_CTX_get_cert_store(ours), certificate) == 1);
}

static inline void free_contexts(void)
{
    SSL_CTX_free(ours);
    SSL_CTX_free(theirs);
    X509_free(certificate);
    EVP_PKEY_free(key);
    certificate = NULL;
    key = NULL;
}

#endif
