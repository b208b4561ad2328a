/* Checks the order of timers that are due together: by date, and equal dates in the order in which they were added or set. */
#include "harness.h"

#define OTHER RLSTR("other")
static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }
static int poll_mode(RLRunLoopMode mode) { return RLRunLoopRunInMode(mode, 0, 0); }

static void note_name(UNUSED RLRunLoopTimerRef timer, void *info) { note(info); }

enum { HAND = 10 };
static const char *const names[HAND] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
static RLRunLoopTimerRef hand[HAND];

static void make_hand(RLAbsoluteTime date)
{
    for (int i = 0; i < HAND; i++)
        hand[i] = make_timer(date, 0, note_name, (void *)names[i]);
}

static void add_hand(RLAbsoluteTime date)
{
    make_hand(date);
    for (int i = 0; i < HAND; i++)
        RLRunLoopAddTimer(rl, hand[i], kRLRunLoopDefaultMode);
}

static void drop_hand(void)
{
    for (int i = 0; i < HAND; i++)
        drop_timer(hand[i]);
}

START_TEST(timers_of_one_date_are_called_in_the_order_added)
{
    RLAbsoluteTime now = RLAbsoluteTimeGetCurrent();
    const RLAbsoluteTime dates[] = {now - 1, 0, now + 0.002};
    add_hand(dates[_i]);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    assert_notes("0 1 2 3 4 5 6 7 8 9");
    drop_hand();
}
END_TEST

START_TEST(timers_of_one_date_are_ordered_by_addition_not_creation)
{
    make_hand(0);
    for (int i = HAND - 1; i >= 0; i--)
        RLRunLoopAddTimer(rl, hand[i], kRLRunLoopDefaultMode);
    RLRunLoopRemoveTimer(rl, hand[7], kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(rl, hand[7], kRLRunLoopDefaultMode);
    RLRunLoopAddTimer(rl, hand[5], kRLRunLoopDefaultMode); /* already there: no effect */
    poll_mode(kRLRunLoopDefaultMode);
    assert_notes("9 8 6 5 4 3 2 1 0 7");
    drop_hand();
}
END_TEST

/* An order and a tolerance are stored in memory of their own, and timers with a tolerance are in queues of their own. */
START_TEST(all_kinds_of_timers_share_one_order)
{
    RLAbsoluteTime date = RLAbsoluteTimeGetCurrent() + 0.002;
    for (int i = 0; i < HAND; i++) {
        RLRunLoopTimerContext context = {.info = (void *)names[i]};
        hand[i] = RLRunLoopTimerCreate(NULL, date, 0, 0, i % 2, note_name, &context);
        if (i % 3 == 0)
            RLRunLoopTimerSetTolerance(hand[i], 1e-4);
        RLRunLoopAddTimer(rl, hand[i], kRLRunLoopDefaultMode);
    }
    RLRunLoopTimerSetTolerance(hand[1], 1e-4); /* changes queues, but not the position among equals */
    RLRunLoopTimerSetTolerance(hand[3], 0);
    RLRunLoopTimerSetTolerance(hand[8], 1e-4);
    spin_until(date + 1e-5);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    assert_notes("0 1 2 3 4 5 6 7 8 9");
    drop_hand();
}
END_TEST

/* Each set of modes has its own queue. A timer that is added to one more mode keeps its position. */
START_TEST(timers_of_different_modes_share_one_order)
{
    make_hand(0);
    RLRunLoopAddCommonMode(rl, OTHER);
    for (int i = 0; i < HAND; i++) {
        if (i % 4 == 3)
            RLRunLoopAddTimer(rl, hand[i], OTHER);
        else
            RLRunLoopAddTimer(rl, hand[i], i % 4 == 1 ? kRLRunLoopCommonModes : kRLRunLoopDefaultMode);
        if (i % 4 == 2)
            RLRunLoopAddTimer(rl, hand[i], OTHER);
    }
    RLRunLoopAddTimer(rl, hand[4], OTHER);
    RLRunLoopAddTimer(rl, hand[0], OTHER);
    RLRunLoopRemoveTimer(rl, hand[2], OTHER);
    if (_i) {
        poll_mode(kRLRunLoopDefaultMode);
        assert_notes("0 1 2 4 5 6 8 9");
    } else {
        poll_mode(OTHER);
        assert_notes("0 1 3 4 5 6 7 9");
    }
    drop_hand();
}
END_TEST

START_TEST(a_timer_set_to_the_date_of_others_is_called_after_them)
{
    RLAbsoluteTime date = RLAbsoluteTimeGetCurrent() - 1;
    add_hand(date);
    RLRunLoopTimerSetNextFireDate(hand[2], date); /* though it has that date already */
    RLRunLoopTimerSetNextFireDate(hand[4], HUGE_VAL);
    RLRunLoopTimerSetNextFireDate(hand[0], date);
    RLRunLoopTimerSetNextFireDate(hand[4], date);
    RLRunLoopTimerSetNextFireDate(hand[9], date - 1);
    poll_mode(kRLRunLoopDefaultMode);
    assert_notes("9 1 3 5 6 7 8 2 0 4");
    drop_hand();
}
END_TEST

/* -- Repeating timers ---------------------------------------------------------------------------------------------- */

enum { ROUNDS = 3, PARTNERS = 3 };
static RLAbsoluteTime due[ROUNDS * PARTNERS];

static void note_date(RLRunLoopTimerRef timer, void *info)
{
    static int calls;
    note(info);
    due[calls++] = RLRunLoopTimerGetNextFireDate(timer); /* of this call */
    if (calls == ROUNDS * PARTNERS)
        RLRunLoopStop(rl);
    if (calls == PARTNERS + 1) /* late: all timers skip part of the grid */
        spin_until(due[PARTNERS] + 2.5 * RLRunLoopTimerGetInterval(timer));
}

START_TEST(repeating_timers_of_one_date_keep_their_order)
{
    RLAbsoluteTime date = RLAbsoluteTimeGetCurrent() + 0.02;
    RLRunLoopTimerRef timers[PARTNERS];
    for (int i = 0; i < PARTNERS; i++) {
        timers[i] = make_timer(date, 0.02, note_date, (void *)names[i]);
        RLRunLoopAddTimer(rl, timers[i], kRLRunLoopDefaultMode);
    }
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    bool was_held_up = false; /* two of them were called so far apart that they skipped different parts of the grid */
    for (int i = 0; i < ROUNDS * PARTNERS; i++)
        was_held_up |= fabs(due[i] - due[i - i % PARTNERS]) > 1e-6;
    ck_assert_msg(strcmp(notes, "0 1 2 0 1 2 0 1 2") == 0 || was_held_up, "%s", notes);
    notes[0] = 0;
    for (int i = 0; i < PARTNERS; i++)
        drop_timer(timers[i]);
}
END_TEST

static RLRunLoopTimerRef follower;

static void note_and_stop(UNUSED RLRunLoopTimerRef timer, void *info)
{
    note(info);
    RLRunLoopStop(rl);
}

static bool was_late; /* a date of a repeating timer that is past counts as now */

static void set_date_and_add(RLRunLoopTimerRef timer, void *info)
{
    note(info);
    if (RLRunLoopContainsTimer(rl, follower, kRLRunLoopDefaultMode))
        return;
    RLAbsoluteTime common_date = RLAbsoluteTimeGetCurrent() + 0.02;
    RLRunLoopTimerSetNextFireDate(timer, common_date);
    RLRunLoopTimerSetNextFireDate(follower, common_date);
    RLRunLoopAddTimer(rl, follower, kRLRunLoopDefaultMode);
    was_late = RLAbsoluteTimeGetCurrent() >= common_date;
}

/* The date counts from when it is set, not from when the callback returns. */
START_TEST(a_date_set_in_a_timers_own_callback_is_ordered_by_when_it_was_set)
{
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent(), 1000, set_date_and_add, "T");
    follower = make_timer(HUGE_VAL, 0, note_and_stop, "F");
    RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunStopped);
    ck_assert_msg(strcmp(notes, "T T F") == 0 || was_late, "%s", notes);
    notes[0] = 0;
    drop_timer(timer);
    RLRelease(follower);
}
END_TEST

/* -- Changes while they are being called --------------------------------------------------------------------------- */

static void change_hand(UNUSED RLRunLoopTimerRef timer, void *info)
{
    note(info);
    RLRunLoopTimerInvalidate(hand[2]);
    RLRunLoopTimerSetNextFireDate(hand[3], RLAbsoluteTimeGetCurrent() - 100); /* it already has its turn */
    RLRunLoopTimerSetNextFireDate(hand[4], HUGE_VAL);
    RLRunLoopTimerSetTolerance(hand[6], 1);
    RLRunLoopAddTimer(rl, hand[7], OTHER);
    note("[");
    poll_mode(kRLRunLoopDefaultMode);
    note("]");
}

START_TEST(the_order_of_timers_survives_changes_made_by_callbacks)
{
    RLAbsoluteTime date = RLAbsoluteTimeGetCurrent() - 1;
    RLRunLoopTimerRef first = make_timer(date, 0, change_hand, "first"), last = make_timer(date, 0, note_name, "last");
    RLRunLoopAddTimer(rl, first, kRLRunLoopDefaultMode);
    add_hand(date);
    RLRunLoopAddTimer(rl, last, kRLRunLoopDefaultMode);
    poll_mode(kRLRunLoopDefaultMode);
    assert_notes("first [ 0 1 3 5 6 7 8 9 last ]");
    drop_timer(first);
    drop_timer(last);
    drop_hand();
}
END_TEST

static void set_past_dates(UNUSED RLRunLoopTimerRef timer, void *mode)
{
    note("sets");
    for (int i = 0; i < HAND - 1; i++) {
        RLRunLoopTimerSetNextFireDate(hand[i], -1e6 - (i * 7 % HAND));
        RLRunLoopAddTimer(rl, hand[i], mode); /* every second timer is already there */
    }
}

/* The timers wait for the next pass, in which a date counts no matter when it was set. */
START_TEST(past_dates_set_in_a_callback_order_the_next_pass)
{
    const RLRunLoopMode mode = _i ? OTHER : kRLRunLoopDefaultMode;
    RLRunLoopTimerRef setter = make_timer(0, 0, set_past_dates, (void *)mode);
    make_hand(HUGE_VAL);
    for (int i = 0; i < HAND; i += 2)
        RLRunLoopAddTimer(rl, hand[i], mode);
    RLRunLoopTimerSetTolerance(hand[4], 1);
    RLRunLoopTimerSetTolerance(hand[5], 1);
    RLRunLoopAddCommonMode(rl, mode);
    RLRunLoopAddTimer(rl, hand[6], kRLRunLoopCommonModes);
    RLRunLoopAddTimer(rl, setter, kRLRunLoopDefaultMode);
    poll_mode(kRLRunLoopDefaultMode);
    assert_notes("sets");
    RLRunLoopTimerSetNextFireDate(hand[HAND - 1], -1e6 - ((HAND - 1) * 7 % HAND));
    RLRunLoopAddTimer(rl, hand[HAND - 1], mode);
    poll_mode(mode);
    assert_notes("7 4 1 8 5 2 9 6 3 0");
    drop_timer(setter);
    drop_hand();
}
END_TEST

static void set_and_run_other(RLRunLoopTimerRef timer, void *mode)
{
    set_past_dates(timer, mode);
    note(poll_mode(OTHER) == kRLRunLoopRunTimedOut ? "|" : "?");
}

/* A nested run serves only its own mode; the rest waits for the pass after the outer one. */
START_TEST(past_dates_set_in_a_callback_order_a_nested_run)
{
    RLRunLoopTimerRef setter = make_timer(0, 0, set_and_run_other, (void *)(_i ? OTHER : kRLRunLoopDefaultMode));
    make_hand(HUGE_VAL);
    RLRunLoopAddCommonMode(rl, OTHER);
    RLRunLoopAddTimer(rl, hand[6], kRLRunLoopCommonModes);
    RLRunLoopAddTimer(rl, setter, kRLRunLoopDefaultMode);
    poll_mode(kRLRunLoopDefaultMode);
    poll_mode(kRLRunLoopDefaultMode);
    assert_notes(_i ? "sets 7 4 1 8 5 2 6 3 0 |" : "sets 6 | 7 4 1 8 5 2 3 0");
    drop_timer(setter);
    drop_hand();
}
END_TEST

/* -- Many ---------------------------------------------------------------------------------------------------------- */

enum { CROWD = 100000 };
static int next_of_crowd;

static void count_in_order(UNUSED RLRunLoopTimerRef timer, void *info) { require((intptr_t)info == next_of_crowd++); }

/* Each step takes logarithmic time: if it took linear time, this would take minutes. */
START_TEST(a_hundred_thousand_timers_of_one_date_keep_their_order)
{
    RLAbsoluteTime date = RLAbsoluteTimeGetCurrent() - 1;
    for (intptr_t i = 0; i < SCALED(CROWD); i++) {
        RLRunLoopTimerRef timer = make_timer(date, 0, count_in_order, (void *)i);
        RLRunLoopAddTimer(rl, timer, kRLRunLoopDefaultMode);
        RLRelease(timer);
    }
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(next_of_crowd, SCALED(CROWD));
}
END_TEST

/* -- Random operations, checked against a list that is searched from end to end ------------------------------------ */

enum { PLAYERS = 1500, FEW_PLAYERS = 120, DATES = 4, NEVER = DATES, IN_DEFAULT = 1, IN_OTHER = 2 };

struct player {
    RLRunLoopTimerRef timer; /* NULL: not in the game */
    int date, arrival, modes;
};
static struct player players[PLAYERS];
static int playing, arrivals, current_mode, depth;
static unsigned chance;
static RLAbsoluteTime first_date;

static int draw(int below)
{
    chance = chance * 1664525u + 1013904223u;
    return (int)((chance >> 8) % (unsigned)below);
}

static RLAbsoluteTime date_of(int date) { return date == NEVER ? HUGE_VAL : first_date + date * 1e-6; }

/* Returns the player whose turn it is; -1 if there is none. */
static int expected_player(void)
{
    int best = -1;
    for (int i = 0; i < playing; i++) {
        const struct player *player = &players[i];
        if (player->timer == NULL || !(player->modes & current_mode) || player->date == NEVER)
            continue;
        if (best < 0 || player->date < players[best].date ||
            (player->date == players[best].date && player->arrival < players[best].arrival))
            best = i;
    }
    return best;
}

static void leave_game(struct player *player)
{
    drop_timer(player->timer);
    player->timer = NULL;
}

static void change_in_callback(struct player *player)
{
    bool has_turn = player->timer && player->modes & current_mode && player->date != NEVER;
    switch (has_turn ? draw(12) : -1) {
    case 0:
        return leave_game(player);
    case 1:
        RLRunLoopTimerSetNextFireDate(player->timer, HUGE_VAL);
        player->date = NEVER;
        player->arrival = arrivals++;
        return;
    case 2: /* keeps its turn */
        return RLRunLoopTimerSetNextFireDate(player->timer, date_of(draw(DATES)));
    case 3:
        return RLRunLoopTimerSetTolerance(player->timer, draw(2) * 0.5);
    }
}

static void play(UNUSED RLRunLoopTimerRef timer, void *info)
{
    struct player *player = info;
    require(player - players == expected_player());
    leave_game(player);
    for (int i = draw(4); i > 0; i--)
        change_in_callback(&players[draw(playing)]);
    if (depth < 3 && draw(30) == 0) {
        depth++;
        poll_mode(current_mode == IN_OTHER ? OTHER : kRLRunLoopDefaultMode);
        require(expected_player() < 0);
        depth--;
    }
}

static void add_player(struct player *player)
{
    RLRunLoopTimerContext context = {.info = player};
    int date = draw(DATES + 1);
    *player = (struct player){.date = date, .arrival = arrivals++};
    player->timer = RLRunLoopTimerCreate(NULL, date_of(date), 0, 0, draw(2), play, &context);
    if (draw(3) == 0)
        RLRunLoopTimerSetTolerance(player->timer, 0.5);
    player->modes = draw(4); /* 0: the common modes */
    if (player->modes == 0)
        RLRunLoopAddTimer(rl, player->timer, kRLRunLoopCommonModes);
    if (player->modes & IN_OTHER)
        RLRunLoopAddTimer(rl, player->timer, OTHER);
    if (player->modes & IN_DEFAULT)
        RLRunLoopAddTimer(rl, player->timer, kRLRunLoopDefaultMode);
    if (player->modes == 0)
        player->modes = IN_DEFAULT | IN_OTHER;
}

static void change_by_chance(struct player *player)
{
    if (player->timer == NULL)
        return add_player(player);
    switch (draw(4)) {
    case 0:
        return leave_game(player);
    case 1:
        RLRunLoopAddTimer(rl, player->timer, OTHER);
        player->modes |= IN_OTHER;
        return;
    case 2:
        return RLRunLoopTimerSetTolerance(player->timer, draw(2) * 0.5);
    default:
        player->date = draw(DATES + 1);
        player->arrival = arrivals++;
        RLRunLoopTimerSetNextFireDate(player->timer, date_of(player->date));
    }
}

START_TEST(random_timers_of_few_dates_agree_with_a_sorted_list)
{
    first_date = RLAbsoluteTimeGetCurrent() - 1000;
    chance = (unsigned)_i;
    playing = _i % 4 == 3 ? PLAYERS : FEW_PLAYERS; /* few timers are in heaps, many are sorted as a whole */
    RLRunLoopAddCommonMode(rl, OTHER);
    for (int round = 0; round < SCALED(400) * FEW_PLAYERS / playing; round++) {
        for (int i = draw(2 * playing); i > 0; i--)
            change_by_chance(&players[draw(playing)]);
        current_mode = 1 + draw(2);
        poll_mode(current_mode == IN_OTHER ? OTHER : kRLRunLoopDefaultMode);
        require(expected_player() < 0);
    }
    for (int i = 0; i < playing; i++)
        if (players[i].timer)
            leave_game(&players[i]);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("timer-order");
    TCase *tcase = add_case(suite, "order", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_loop_test(tcase, timers_of_one_date_are_called_in_the_order_added, 0, 3);
    tcase_add_test(tcase, timers_of_one_date_are_ordered_by_addition_not_creation);
    tcase_add_test(tcase, all_kinds_of_timers_share_one_order);
    tcase_add_loop_test(tcase, timers_of_different_modes_share_one_order, 0, 2);
    tcase_add_test(tcase, a_timer_set_to_the_date_of_others_is_called_after_them);
    tcase_add_test(tcase, repeating_timers_of_one_date_keep_their_order);
    tcase_add_test(tcase, a_date_set_in_a_timers_own_callback_is_ordered_by_when_it_was_set);
    tcase_add_test(tcase, the_order_of_timers_survives_changes_made_by_callbacks);
    tcase_add_loop_test(tcase, past_dates_set_in_a_callback_order_the_next_pass, 0, 2);
    tcase_add_loop_test(tcase, past_dates_set_in_a_callback_order_a_nested_run, 0, 2);
    tcase_add_test(tcase, a_hundred_thousand_timers_of_one_date_keep_their_order);
    tcase_add_loop_test(tcase, random_timers_of_few_dates_agree_with_a_sorted_list, 0, 8);
    return suite;
}
