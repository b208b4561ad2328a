/* RunLoopKit/adapters/openssl.h: TLS between two streams, with a certificate created by the test. */
#include "stream-tls.h"

static struct spy client, server;

static void connect_spies(const char *host)
{
    int pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    client.length = server.length = 0, client.seen[0] = server.seen[0] = 0;
    spy_on(&client, pair[0]);
    spy_on(&server, pair[1]);
    ck_assert(RLStreamStartTLSAsClient(client.stream, ours, host));
    ck_assert(RLStreamStartTLSAsServer(server.stream, theirs));
}

static void end_spies(void)
{
    end_spy(&client);
    end_spy(&server);
    free_contexts();
}

START_TEST(client_and_server_exchange_data_over_tls)
{
    make_contexts();
    require(SSL_CTX_set_max_proto_version(theirs, _i == 0 ? TLS1_2_VERSION : TLS1_3_VERSION) == 1);
    connect_spies("localhost");
    RLStreamWrite(client.stream, "early", 5); /* before the handshake */
    RLStreamFlush(client.stream, note_flush, "a");
    assert_flushed("");
    run_passes();
    assert_seen(&client, "O");
    assert_seen(&server, "O(early)");
    assert_flushed("a0");
    ck_assert_str_eq(SSL_get_version(RLStreamGetSSL(client.stream)), _i == 0 ? "TLSv1.2" : "TLSv1.3");
    ck_assert_ptr_null(RLStreamGetTLSReason(client.stream));
    ck_assert(!RLStreamStartTLSAsServer(server.stream, theirs) && errno == EALREADY);
    RLStreamSetReadDelimiter(client.stream, "\n", 1, 100);
    RLStreamAppend(server.stream, "one\ntw", 6);
    RLStreamWrite(server.stream, "o\n", 2);
    run_passes();
    assert_seen(&client, "(one\n)(two\n)");
    RLStreamShutdown(client.stream); /* sends the closing alert; the other direction continues */
    run_passes();
    assert_seen(&server, "E");
    RLStreamWrite(server.stream, "last\n", 5);
    RLStreamShutdown(server.stream);
    run_passes();
    assert_seen(&client, "(last\n)E");
    end_spies();
    ck_assert_ptr_null(certificate);
}
END_TEST

static size_t received;
static uint8_t text[1000000];
static void compare(UNUSED struct spy *spy, const RLStreamEvent *event)
{
    require(event->result == 0 && memcmp(event->bytes ? event->bytes : text, text + (event->bytes ? received : 0),
                                         (size_t)event->length) == 0);
    received += (size_t)event->length;
}

/* The encrypted data arrives in chunks of any size, and there is little buffer space. */
START_TEST(tls_records_may_arrive_in_pieces_of_any_size)
{
    make_contexts();
    int left[2], right[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, left) == 0);
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, right) == 0);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)(i * 31 >> 3);
    spy_on(&client, left[0]);
    spy_on(&server, right[0]);
    small_buffers(left[0]);
    server.action = compare;
    ck_assert(RLStreamStartTLSAsClient(client.stream, ours, "localhost") &&
              RLStreamStartTLSAsServer(server.stream, theirs));
    size_t length = SCALED(sizeof text);
    RLStreamWrite(client.stream, text, (RLIndex)length);
    uint32_t seed = 1;
    uint8_t bytes[30000];
    for (int i = 0; received < length; i++) {
        seed = seed * 1664525 + 1013904223;
        size_t size = 1 + (seed >> 8) % (i < 200 ? 30 : sizeof bytes);
        bool forward = (seed >> 4) % 2;
        int from = forward ? left[1] : right[1], to = forward ? right[1] : left[1];
        ssize_t count = recv(from, bytes, size, 0);
        for (ssize_t sent = 0; count > sent;) {
            ssize_t written = write(to, bytes + sent, (size_t)(count - sent));
            sent += written > 0 ? written : 0;
            run_passes();
        }
        run_passes();
    }
    ck_assert_uint_eq(received, length);
    server.action = NULL;
    end_spies();
    close(left[1]);
    close(right[1]);
}
END_TEST

START_TEST(a_bad_certificate_is_not_trusted)
{
    static const struct {
        const char *host, *reason;
        bool is_known, is_over;
    } cases[] = {{"localhost", "self-signed certificate", false, false},
                 {"example.org", "hostname mismatch", true, false},
                 {"localhost", "certificate has expired", true, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].is_over)
            make_certificate(-86400 * 2, -86400);
        make_contexts();
        if (!cases[i].is_known) {
            SSL_CTX_free(ours);
            ours = SSL_CTX_new(TLS_client_method());
        }
        connect_spies(cases[i].host);
        RLStreamWrite(client.stream, "secret", 6);
        run_passes();
        assert_seen(&client, "!EPROTO");
        ck_assert_int_eq(client.result, kRLStreamNotTrusted);
        const char *reason = RLStreamGetTLSReason(client.stream);
        ck_assert(strcasecmp(reason, cases[i].reason) == 0 ||
                  (i == 0 && strcasecmp(reason, "self signed certificate") == 0));
        assert_seen(&server, "!EPROTO");
        ck_assert_int_eq(server.result, kRLStreamRefused);
        ck_assert_ptr_nonnull(strstr(RLStreamGetTLSReason(server.stream), "alert"));
        ck_assert(!RLStreamWrite(client.stream, "x", 1) && errno == EPROTO);
        end_spies();
    }
}
END_TEST

START_TEST(a_server_may_require_a_client_certificate)
{
    for (int shown = 0; shown < 2; shown++) {
        make_contexts();
        SSL_CTX_set_verify(theirs, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        require(X509_STORE_add_cert(SSL_CTX_get_cert_store(theirs), certificate) == 1);
        if (shown)
            require(SSL_CTX_use_certificate(ours, certificate) == 1 && SSL_CTX_use_PrivateKey(ours, key) == 1);
        connect_spies("localhost");
        run_passes();
        assert_seen(&server, shown ? "O" : "!EPROTO");
        assert_seen(&client, shown ? "O" : "O!EPROTO");   /* in TLS 1.3 the client finishes first */
        ck_assert_int_eq(client.result, kRLStreamFailed); /* in the first round */
        end_spies();
    }
}
END_TEST

START_TEST(a_connection_closed_without_a_goodbye_is_truncated)
{
    make_contexts();
    connect_spies("localhost");
    run_passes();
    RLStreamWrite(server.stream, "half a", 6);
    RLStreamClose(server.stream); /* without a closing alert */
    RLStreamSetReadDelimiter(client.stream, "\n", 1, 100);
    run_passes();
    assert_seen(&client, "O!EPROTO");
    ck_assert_int_eq(client.result, kRLStreamTruncated);
    end_spies();
}
END_TEST

START_TEST(a_peer_that_does_not_speak_tls_is_refused)
{
    make_contexts();
    int peer = spy_on_pair(&client);
    ck_assert(RLStreamStartTLSAsClient(client.stream, ours, "localhost"));
    send_text(peer, "HTTP/1.1 400 what do you mean?\r\n\r\n");
    run_passes();
    assert_seen(&client, "!EPROTO");
    ck_assert_int_eq(client.result, kRLStreamRefused);
    ck_assert_ptr_nonnull(RLStreamGetTLSReason(client.stream));
    close(peer);

    peer = spy_on_pair(&server);
    ck_assert(RLStreamStartTLSAsServer(server.stream, theirs));
    close(peer);
    run_passes();
    assert_seen(&server, "!EPROTO");
    ck_assert_int_eq(server.result, kRLStreamTruncated);
    end_spies();
}
END_TEST

static void begin_tls(struct spy *spy, const RLStreamEvent *event)
{
    if (event->length == 9 && memcmp(event->bytes, "STARTTLS\n", 9) == 0) {
        RLStreamWrite(spy->stream, "go on\n", 6);
        require(RLStreamStartTLSAsServer(spy->stream, theirs));
    } else if (event->length == 6 && memcmp(event->bytes, "go on\n", 6) == 0) {
        require(RLStreamStartTLSAsClient(spy->stream, ours, "localhost"));
        require(RLStreamWrite(spy->stream, "secret\n", 7));
    }
}

START_TEST(tls_may_begin_in_the_middle_of_a_stream)
{
    make_contexts();
    int pair[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    spy_on(&client, pair[0]);
    spy_on(&server, pair[1]);
    RLStreamSetReadDelimiter(client.stream, "\n", 1, 100);
    RLStreamSetReadDelimiter(server.stream, "\n", 1, 100);
    client.action = server.action = begin_tls;
    RLStreamWrite(client.stream, "STARTTLS\n", 9);
    run_passes();
    assert_seen(&client, "(go on\n)O");
    assert_seen(&server, "(STARTTLS\n)O(secret\n)");
    end_spies();

    make_contexts(); /* data that an attacker appends to the plain line is not taken for the client's */
    int peer = spy_on_pair(&server);
    RLStreamSetReadDelimiter(server.stream, "\n", 1, 100);
    send_text(peer, "STARTTLS\nrm -rf\n");
    run_passes();
    assert_seen(&server, "(STARTTLS\n)!EPROTO");
    ck_assert_int_eq(server.result, kRLStreamRefused);
    spy_on_pair(&client);
    end_spies();
    close(peer);
}
END_TEST

START_TEST(bytes_changed_in_transit_are_detected)
{
    make_contexts();
    int left[2], right[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, left) == 0);
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, right) == 0);
    spy_on(&client, left[0]);
    spy_on(&server, right[0]);
    ck_assert(RLStreamStartTLSAsClient(client.stream, ours, "localhost") &&
              RLStreamStartTLSAsServer(server.stream, theirs));
    char bytes[10000];
    while (client.seen[0] == 0 || server.seen[0] == 0) {
        run_passes();
        ssize_t count = read(left[1], bytes, sizeof bytes);
        require(count < 0 || write(right[1], bytes, (size_t)count) == count);
        run_passes();
        count = read(right[1], bytes, sizeof bytes);
        require(count < 0 || write(left[1], bytes, (size_t)count) == count);
    }
    assert_seen(&server, "O");
    RLStreamWrite(client.stream, "hello", 5);
    ssize_t count = read(left[1], bytes, sizeof bytes);
    bytes[count - 1] ^= 1;
    require(write(right[1], bytes, (size_t)count) == count);
    run_passes();
    assert_seen(&server, "!EPROTO");
    ck_assert_int_eq(server.result, kRLStreamFailed);
    end_spies();
    close(left[1]);
    close(right[1]);
}
END_TEST

START_TEST(modes_of_the_programs_ssl_context_do_not_matter)
{
    static char bytes[100000];
    make_contexts();
    SSL_CTX_set_mode(ours, SSL_MODE_ENABLE_PARTIAL_WRITE);
    SSL_CTX_clear_mode(ours, SSL_MODE_AUTO_RETRY);
    connect_spies("localhost");
    ck_assert(RLStreamWrite(client.stream, bytes, sizeof bytes) && RLStreamWrite(server.stream, "greeting", 8));
    run_passes();
    ck_assert_uint_eq(server.bytes, sizeof bytes);
    assert_seen(&client, "O(greeting)");
    end_spies();
}
END_TEST

/* With a quiet shutdown, OpenSSL would send no closing alert, and would also take the other direction for closed. */
START_TEST(a_context_with_quiet_shutdown_closes_one_direction_at_a_time)
{
    make_contexts();
    SSL_CTX_set_quiet_shutdown(ours, 1);
    connect_spies("localhost");
    RLStreamWrite(client.stream, "question", 8);
    RLStreamShutdown(client.stream);
    run_passes();
    assert_seen(&server, "O(question)E");
    assert_seen(&client, "O");
    RLStreamWrite(server.stream, "answer", 6);
    RLStreamShutdown(server.stream);
    run_passes();
    assert_seen(&client, "(answer)E");
    end_spies();
}
END_TEST

/* OpenSSL sends new keys with what is written next. */
START_TEST(a_shutdown_after_a_request_for_new_keys_is_sent)
{
    make_contexts();
    connect_spies("localhost");
    run_passes();
    assert_seen(&server, "O");
    require(SSL_key_update(RLStreamGetSSL(client.stream), SSL_KEY_UPDATE_REQUESTED) == 1);
    RLStreamShutdown(client.stream);
    run_passes();
    assert_seen(&server, "E");
    RLStreamWrite(server.stream, "answer", 6);
    run_passes();
    assert_seen(&client, "O(answer)");
    end_spies();
}
END_TEST

START_TEST(the_tls_host_is_a_name_or_an_address)
{
    make_contexts();
    int peer = spy_on_pair(&client);
    ck_assert(!RLStreamStartTLSAsClient(client.stream, ours, NULL) && errno == EINVAL);
    ck_assert(!RLStreamStartTLSAsClient(client.stream, ours, "") && errno == EINVAL);
    ck_assert(RLStreamStartTLSAsClient(client.stream, ours, "127.0.0.1"));
    ck_assert_ptr_null(SSL_get_servername(RLStreamGetSSL(client.stream), TLSEXT_NAMETYPE_host_name));
    end_spy(&client);
    close(peer);
    /* The address is not in the certificate. */
    connect_spies("127.0.0.1");
    run_passes();
    ck_assert_int_eq(client.result, kRLStreamNotTrusted);
    end_spies();
}
END_TEST

/* A peer constantly requests key updates without reading the answers; later it reads them. */
START_TEST(endless_key_update_requests_are_held_back)
{
    make_contexts();
    int peer = spy_on_pair(&server), same = 0;
    ck_assert(RLStreamStartTLSAsServer(server.stream, theirs));
    small_buffers(RLStreamGetNativeDescriptor(server.stream));
    SSL *ssl = SSL_new(ours);
    SSL_set_fd(ssl, peer);
    SSL_set_connect_state(ssl);
    while (SSL_do_handshake(ssl) != 1)
        run_passes();
    while (same < 3) { /* then reading is paused: further requests wait in the kernel */
        RLIndex before = RLStreamGetQueuedLength(server.stream);
        require(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) == 1 && SSL_do_handshake(ssl) == 1);
        run_passes();
        RLIndex after = RLStreamGetQueuedLength(server.stream);
        same = after > 0 && after == before ? same + 1 : 0;
        ck_assert_int_le(after, 2 * 65536 + 8192);
    }
    assert_seen(&server, "O");
    require(SSL_write(ssl, "hello", 5) == 5);
    while (server.seen[0] == 0) {
        SSL_read(ssl, &(char){0}, 1);
        run_passes();
    }
    assert_seen(&server, "(hello)");
    SSL_free(ssl);
    close(peer);
    end_spy(&server);
    free_contexts();
}
END_TEST

static int suspend_hello(UNUSED SSL *ssl, UNUSED int *alert, UNUSED void *info) { return SSL_CLIENT_HELLO_RETRY; }
static int suspend_certificate(UNUSED SSL *ssl, UNUSED void *info) { return -1; }

/* Suspending a handshake is not supported, as the header documents. */
START_TEST(callbacks_that_suspend_a_handshake_are_refused)
{
    make_contexts();
    if (_i == 0)
        SSL_CTX_set_client_hello_cb(theirs, suspend_hello, NULL);
    else
        SSL_CTX_set_cert_cb(theirs, suspend_certificate, NULL);
    connect_spies("localhost");
    run_passes();
    assert_seen(&server, "!EPROTO");
    ck_assert_int_eq(server.result, kRLStreamRefused);
    ck_assert_ptr_null(RLStreamGetTLSReason(server.stream));
    end_spies();
}
END_TEST

/* Forms of a host that getaddrinfo() accepts, but certificates and servers do not: an absolute name, and an address
 * with a zone. */
START_TEST(the_tls_host_may_have_a_final_dot_or_an_address_zone)
{
    char longest[258];
    memset(longest, 'x', sizeof longest);
    longest[257] = 0;
    make_contexts();
    connect_spies("localhost.");
    ck_assert_str_eq(SSL_get_servername(RLStreamGetSSL(client.stream), TLSEXT_NAMETYPE_host_name), "localhost");
    run_passes();
    assert_seen(&client, "O");
    end_spy(&client);
    end_spy(&server);
    connect_spies("fe80::1%eth0");
    ck_assert_ptr_null(SSL_get_servername(RLStreamGetSSL(client.stream), TLSEXT_NAMETYPE_host_name));
    run_passes();
    assert_seen(&client, "O");
    end_spy(&client);
    int peer = spy_on_pair(&client);
    ck_assert(!RLStreamStartTLSAsClient(client.stream, ours, ".") && errno == EINVAL);
    ck_assert(!RLStreamStartTLSAsClient(client.stream, ours, longest) && errno == EINVAL);
    close(peer);
    end_spies();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream tls");
    TCase *all = add_case(suite, "stream tls", 30);
    tcase_add_loop_test(all, client_and_server_exchange_data_over_tls, 0, 2);
    tcase_add_test(all, tls_records_may_arrive_in_pieces_of_any_size);
    tcase_add_test(all, a_bad_certificate_is_not_trusted);
    tcase_add_test(all, a_server_may_require_a_client_certificate);
    tcase_add_test(all, a_connection_closed_without_a_goodbye_is_truncated);
    tcase_add_test(all, a_peer_that_does_not_speak_tls_is_refused);
    tcase_add_test(all, tls_may_begin_in_the_middle_of_a_stream);
    tcase_add_test(all, bytes_changed_in_transit_are_detected);
    tcase_add_test(all, modes_of_the_programs_ssl_context_do_not_matter);
    tcase_add_test(all, a_context_with_quiet_shutdown_closes_one_direction_at_a_time);
    tcase_add_test(all, a_shutdown_after_a_request_for_new_keys_is_sent);
    tcase_add_test(all, the_tls_host_is_a_name_or_an_address);
    tcase_add_test(all, endless_key_update_requests_are_held_back);
    tcase_add_loop_test(all, callbacks_that_suspend_a_handshake_are_refused, 0, 2);
    tcase_add_test(all, the_tls_host_may_have_a_final_dot_or_an_address_zone);
    return suite;
}
