/* RunLoopKit/adapters/openssl.h: messages after the handshake. A client writes while a server's session ticket, which
 * takes several records, has partly arrived; and a server asks for new keys. */
#include "stream-tls.h"

static struct spy client;

/* A TLS server operated by the test. */
static struct {
    SSL *ssl;
    BIO *in, *out;
    int peer;
    size_t length;
    char text[8192]; /* what it has received */
} hand;

static void hand_serves(void)
{
    char bytes[4096];
    ssize_t count;
    while ((count = read(hand.peer, bytes, sizeof bytes)) > 0)
        require(BIO_write(hand.in, bytes, (int)count) == (int)count);
    int received = 0;
    if (!SSL_is_init_finished(hand.ssl))
        SSL_do_handshake(hand.ssl);
    else
        while ((received = SSL_read(hand.ssl, hand.text + hand.length, (int)(sizeof hand.text - hand.length))) > 0)
            hand.length += (size_t)received;
}

/* Sends at most that many bytes of the server's output. Returns the number of bytes. */
static size_t hand_sends(size_t length)
{
    char bytes[8192];
    require(length <= sizeof bytes);
    int count = length > 0 ? BIO_read(hand.out, bytes, (int)length) : 0;
    require(count <= 0 || write(hand.peer, bytes, (size_t)count) == count);
    run_passes();
    return count > 0 ? (size_t)count : 0;
}

/* Connects a client that has completed the handshake, but has not received the server's tickets. */
static void connect_to_hand(void)
{
    hand.peer = spy_on_pair(&client);
    hand.ssl = SSL_new(theirs);
    hand.in = BIO_new(BIO_s_mem());
    hand.out = BIO_new(BIO_s_mem());
    SSL_set_bio(hand.ssl, hand.in, hand.out);
    SSL_set_accept_state(hand.ssl);
    hand.length = 0;
    ck_assert(RLStreamStartTLSAsClient(client.stream, ours, "localhost"));
    for (hand_serves(); !SSL_is_init_finished(hand.ssl); hand_serves())
        hand_sends(8192);
    assert_seen(&client, "O");
    ck_assert_uint_gt(BIO_pending(hand.out), 1024);
}

static void leave_hand(void)
{
    end_spy(&client);
    SSL_free(hand.ssl);
    close(hand.peer);
}

static void make_contexts_with_large_tickets(void)
{
    make_contexts();
    require(SSL_CTX_set_max_send_fragment(theirs, 512) == 1);
    require(SSL_CTX_set_session_id_context(theirs, (const unsigned char *)"a", 1) == 1);
    SSL_CTX_set_verify(theirs, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL); /* it is in the ticket */
    require(X509_STORE_add_cert(SSL_CTX_get_cert_store(theirs), certificate) == 1);
    require(SSL_CTX_use_certificate(ours, certificate) == 1 && SSL_CTX_use_PrivateKey(ours, key) == 1);
}

START_TEST(a_client_may_write_in_the_middle_of_a_session_ticket)
{
    make_contexts_with_large_tickets();
    connect_to_hand();
    size_t written = 0;
    do {
        ck_assert(RLStreamWrite(client.stream, &(char){(char)written++}, 1));
        hand_serves();
    } while (hand_sends(1) == 1);
    hand_serves();
    ck_assert_uint_eq(hand.length, written);
    for (size_t i = 0; i < written; i++)
        ck_assert_int_eq(hand.text[i], (char)i);
    require(SSL_write(hand.ssl, "thanks", 6) == 6);
    hand_sends(8192);
    assert_seen(&client, "(thanks)");
    leave_hand();
    free_contexts();
}
END_TEST

/* However much of the tickets has arrived, written data arrives, followed by the closing alert; even if reading is
 * paused. */
START_TEST(a_client_may_shut_down_in_the_middle_of_a_session_ticket)
{
    make_contexts_with_large_tickets();
    size_t all = 1, step = SANITIZED ? 211 : 23;
    for (size_t at = 0; at < all; at += step) {
        connect_to_hand();
        all = (size_t)BIO_pending(hand.out);
        hand_sends(at);
        if (at % 2)
            RLStreamPauseReading(client.stream);
        ck_assert(RLStreamWrite(client.stream, "last", 4));
        ck_assert(RLStreamFlush(client.stream, note_flush, "a"));
        RLStreamShutdown(client.stream);
        run_passes();
        hand_sends(8192);
        hand_serves();
        assert_flushed("a0");
        ck_assert_msg(hand.length == 4 && memcmp(hand.text, "last", 4) == 0, "after %zu bytes", at);
        ck_assert_msg((SSL_get_shutdown(hand.ssl) & SSL_RECEIVED_SHUTDOWN) != 0, "after %zu bytes", at);
        ck_assert_int_eq(read(hand.peer, &(char){0}, 1), 0);
        assert_seen(&client, "");
        leave_hand();
    }
    free_contexts();
}
END_TEST

/* OpenSSL answers the second request even after the closing alert, although nothing can be sent any more. */
START_TEST(requests_for_new_keys_after_a_shutdown_are_not_answered)
{
    make_contexts_with_large_tickets();
    connect_to_hand();
    hand_sends(8192);
    RLStreamShutdown(client.stream);
    run_passes();
    hand_serves();
    for (int i = 0; i < 3; i++) {
        require(SSL_key_update(hand.ssl, SSL_KEY_UPDATE_REQUESTED) == 1 && SSL_write(hand.ssl, "data", 4) == 4);
        hand_sends(8192);
        assert_seen(&client, "(data)");
    }
    SSL_shutdown(hand.ssl);
    hand_sends(8192);
    assert_seen(&client, "E");
    leave_hand();
    free_contexts();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("stream tls tickets");
    TCase *all = add_case(suite, "tickets", 30);
    tcase_add_test(all, a_client_may_write_in_the_middle_of_a_session_ticket);
    tcase_add_test(all, a_client_may_shut_down_in_the_middle_of_a_session_ticket);
    tcase_add_test(all, requests_for_new_keys_after_a_shutdown_are_not_answered);
    return suite;
}
