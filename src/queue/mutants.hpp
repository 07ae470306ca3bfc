#pragma once
#include <cstdint>

#ifdef ZKLOCK_MUTANTS
#include <array>
#include <string_view>
#endif

/// Known bugs that the simulator can put into the protocol, to prove that its checkers find them. Each only negates a
/// condition of the code that ships, or adds terms to one: `if (c && !ZKLOCK_MUTANT(name))`. Two conditions look different:
/// one that chooses a value, `ZKLOCK_MUTANT(name) ? wrong : right`, and one that leaves out the rest of a function or
/// of a round, `if (ZKLOCK_MUTANT(name)) return;`, or `continue;`. No mutant has a step, a function or a state of its
/// own. In the code that ships, each is the constant false. Where the bug is that others are told of a node at a
/// moment at which the code tells nobody, the simulator's users have their client's peers tell it
/// (tests/simulator/simulation.cpp, shared_users.cpp).
/// The names are in alphabetical order; one that begins with a recipe's name is looked for by that recipe's users
/// (tests/simulator/main.cpp).

// clang-format off
#define ZKLOCK_MUTANT_LIST(X) \
    X(none) \
    X(adopts_a_node_of_the_old_session) \
    X(all_before_a_predecessor_are_gone_with_it) \
    X(cancelled_create_not_deleted) \
    X(cancelled_lost_create_forgotten) \
    X(caught_up_outlives_its_epoch) \
    X(children_only_counted) \
    X(clock_ends_the_session) \
    X(cohort_without_end) \
    X(container_deleted_at_any_version) \
    X(container_of_a_lost_answer_stays) \
    X(container_of_a_lost_answer_taken_for_another) \
    X(container_of_others_deleted) \
    X(container_with_data_deleted) \
    X(containers_stay) \
    X(create_repeated_without_look_up) \
    X(czxid_of_an_earlier_node) \
    X(deadline_waits_for_a_connection) \
    X(delete_not_retried) \
    X(deleted_node_counts_as_released) \
    X(deletes_the_holders_node) \
    X(dense_view_outlives_its_epoch) \
    X(dense_without_the_parents_watch) \
    X(disconnection_counts_as_deletion) \
    X(election_loss_not_told) \
    X(election_resign_does_not_wait) \
    X(election_resigned_candidate_stays) \
    X(election_resigned_leader_not_stopped) \
    X(election_stands_again_after_resigning) \
    X(election_token_not_told) \
    X(every_event_is_a_deletion) \
    X(every_number_is_a_contender) \
    X(exception_ignored) \
    X(failed_batch_counts_as_done) \
    X(gaps_ignored) \
    X(grant_told_after_the_loss) \
    X(grant_without_a_fresh_lease) \
    X(grant_without_a_view) \
    X(grants_of_a_node_not_counted) \
    X(handoff_after_an_unknown_write) \
    X(handoff_by_number_not_name) \
    X(handoff_certificate_not_checked) \
    X(handoff_comes_back_with_a_list) \
    X(handoff_covers_lower_numbers) \
    X(handoff_delete_only_if_awaited) \
    X(handoff_given_before_the_release) \
    X(handoff_grants_the_uncovered) \
    X(handoff_no_sync_after) \
    X(handoff_no_watch_when_subscribed) \
    X(handoff_node_passed_on_afterwards) \
    X(handoff_on_a_lapse) \
    X(handoff_one_secret_for_all_nodes) \
    X(handoff_own_node_seen_long_ago) \
    X(handoff_skips_own_nodes) \
    X(handoff_told_without_a_connection) \
    X(handoff_while_lingering) \
    X(handoff_with_a_write_under_way) \
    X(handoff_without_a_fresh_lease) \
    X(handoff_without_the_own_watch) \
    X(heartbeat_sent_once) \
    X(heeded_names_ignored) \
    X(heeds_every_number) \
    X(held_back_for_ever) \
    X(history_never_asked) \
    X(lapsed_holder_keeps_its_node) \
    X(lease_counts_on_one_answer) \
    X(lease_counts_refusals) \
    X(lease_ignores_drift) \
    X(lease_margin_below_a_tick) \
    X(lease_not_watched) \
    X(lease_watched_once) \
    X(lingers_although_others_queue) \
    X(lingers_where_numbers_are_scarce) \
    X(locks_access_ignored) \
    X(look_up_without_sync) \
    X(loss_not_told) \
    X(loss_told_after_the_release) \
    X(lost_create_looked_for_once) \
    X(multi_deadline_for_the_first_member_only) \
    X(multi_granted_with_a_lost_member) \
    X(multi_held_while_one_is) \
    X(multi_loss_of_one_ignored) \
    X(multi_roll_back_stops_early) \
    X(multi_takes_members_as_given) \
    X(names_with_a_mark_not_looked_up) \
    X(no_heartbeat) \
    X(no_second_look_at_a_predecessor_gone) \
    X(node_watch_every_event_is_a_deletion) \
    X(node_watch_left_on_the_server) \
    X(node_watch_look_counts_as_seen) \
    X(node_watch_not_armed_again) \
    X(node_watch_older_counts_as_newer) \
    X(node_watch_other_node_unnoticed) \
    X(node_watch_outlives_its_epoch) \
    X(node_watch_returned_unasked) \
    X(node_watch_taken_by_a_lock) \
    X(node_watch_taken_from_a_lock) \
    X(node_watch_told_although_withdrawn) \
    X(numbers_that_begin_again_ignored) \
    X(numbers_used_up) \
    X(occupied_parent_not_looked_at_again) \
    X(only_the_parents_deletion_counts) \
    X(own_deleted_node_ignored) \
    X(own_node_not_watched) \
    X(own_nodes_do_not_count) \
    X(owned_downgraded_although_it_writes) \
    X(owned_granted_readers_stay_alone) \
    X(owned_joined_readers_wait_as_writers) \
    X(owned_kinds_not_told_apart) \
    X(owned_last_writer_stays_alone) \
    X(owned_reader_becomes_a_writer) \
    X(owned_release_told_before_the_downgrade) \
    X(owned_release_without_its_downgrades_end) \
    X(owned_stands_on_its_first_node) \
    X(owned_stands_on_while_downgrading) \
    X(owned_waiting_reader_becomes_a_writer) \
    X(parent_made_by_another_is_an_error) \
    X(parents_events_ignored) \
    X(places_in_a_batch_ignored) \
    X(reentrant_acquire_after_the_loss) \
    X(reentrant_joined_acquire_takes_all_along) \
    X(reentrant_look_joins_those_who_queue) \
    X(reentrant_loss_told_to_one) \
    X(reentrant_queue_fails_with_a_look) \
    X(reentrant_release_of_one_is_of_all) \
    X(refused_look_keeps_its_node) \
    X(refused_path_still_watched) \
    X(release_waits_for_the_servers) \
    X(requests_after_a_lost_answer) \
    X(restored_session_goes_on) \
    X(revocation_before_the_wait_missed) \
    X(revocation_by_any_data) \
    X(revocation_event_lost) \
    X(revocation_lost_in_a_downgrade) \
    X(revocation_node_passed_on) \
    X(revocation_told_after_the_release) \
    X(revocation_told_twice) \
    X(semaphore_attempts_without_end) \
    X(semaphore_count_changes_ignored) \
    X(semaphore_counts_without_own_nodes) \
    X(semaphore_deleted_node_counts_as_released) \
    X(semaphore_deleted_node_ignored) \
    X(semaphore_deletion_told_as_a_release) \
    X(semaphore_grant_told_after_the_loss) \
    X(semaphore_granted_by_an_outdated_count) \
    X(semaphore_granted_without_the_line) \
    X(semaphore_line_lets_several_in) \
    X(semaphore_list_without_watch) \
    X(semaphore_look_up_without_sync) \
    X(semaphore_loss_not_told) \
    X(semaphore_loss_not_told_to_the_listener) \
    X(semaphore_lost_create_forgotten) \
    X(semaphore_maxima_not_compared) \
    X(semaphore_node_of_a_cancelled_create_stays) \
    X(semaphore_node_stays_after_the_wait) \
    X(semaphore_permits_without_the_locks_access) \
    X(semaphore_place_not_told) \
    X(semaphore_release_told_with_the_first_permit) \
    X(semaphore_try_waits) \
    X(semaphore_unknown_delete_counts_as_done) \
    X(semaphore_unknown_delete_counts_as_not_done) \
    X(semaphore_watch_left_on_the_server) \
    X(semaphore_watch_taken_back_before_its_list) \
    X(shared_commit_after_a_downgrade) \
    X(shared_downgrade_without_the_readers_node) \
    X(shared_epoch_begins_behind_no_sync) \
    X(shared_handoff_on_a_downgrade) \
    X(shared_no_second_look_after_a_writer) \
    X(shared_reader_without_the_locks_access) \
    X(shared_readers_exclude_readers) \
    X(shared_readers_ignore_writers) \
    X(shared_readers_wait_for_later_writers) \
    X(shared_refused_downgrade_never_done) \
    X(shared_refused_downgrade_outlives_its_parent) \
    X(shared_writers_ignore_readers) \
    X(sorted_by_whole_name) \
    X(token_not_read_after_a_look_up) \
    X(transaction_after_the_loss) \
    X(transaction_comes_back_last) \
    X(transaction_reads_behind_no_sync) \
    X(transaction_withdrawn_stays_under_way) \
    X(transaction_without_a_check) \
    X(try_waits_in_its_place) \
    X(unknown_delete_counts_as_done) \
    X(unknown_delete_counts_as_not_done) \
    X(unknown_inspection_counts_as_gone) \
    X(used_up_watch_not_armed_again) \
    X(users_node_taken_for_a_lost_one) \
    X(watch_left_on_the_server) \
    X(watch_on_the_first_node) \
    X(watch_on_the_next_higher_node) \
    X(watches_outlive_their_epoch) \
    X(withdrawn_node_stays) \
    X(youngest_waiter_first)
// clang-format on

namespace zklock::mutants {

enum class id : std::uint8_t {
#define ZKLOCK_MUTANT_NAME(name) name,
    ZKLOCK_MUTANT_LIST(ZKLOCK_MUTANT_NAME)
#undef ZKLOCK_MUTANT_NAME
};

#ifdef ZKLOCK_MUTANTS

inline id active = id::none;

struct named {
    std::string_view name;
    id which;
};
inline constexpr std::array all{
#define ZKLOCK_MUTANT_NAME(name) named{#name, id::name},
    ZKLOCK_MUTANT_LIST(ZKLOCK_MUTANT_NAME)
#undef ZKLOCK_MUTANT_NAME
};

/// False if there is no mutant of that name.
inline bool activate(std::string_view name)
{
    for (const auto& m : all) {
        if (m.name != name) continue;
        active = m.which;
        return true;
    }
    return false;
}

#define ZKLOCK_MUTANT(name) (::zklock::mutants::active == ::zklock::mutants::id::name)
#else
#define ZKLOCK_MUTANT(name) (static_cast<void>(::zklock::mutants::id::name), false)
#endif

} // namespace zklock::mutants
