#pragma once
#include "world.hpp"

namespace zklock::simulator {

enum class act : std::uint8_t {
    // a client's user
    acquire,
    list,
    close_client,
    // a client's misfortunes
    cut,
    block,
    pause,
    crash,
    // the servers'
    hang_up,
    restart,
    cut_off,
    pause_leader,
    part_leader,
    all_down,
    back_up,
    set_back,
    go_astray,
    kill_session,
    // whoever administers the ensemble, and other programs
    delete_contender,
    delete_parent,
    set_contender_data,
    set_parent_data,
    refuse,
    replace_parent,      ///< sets its data, then puts another in its place that has seen about as many children
    replace_idle_parent, ///< a container that is empty, by a persistent node
    remove_idle_containers,
    foreign_contender,
    foreign_out_of_turn,
    foreign_child,
    // where clients have peers
    set_register, ///< what users read under their locks, by a program without a lock
    part_peers    ///< clients do not reach each other
};

/// One thing that happens at a certain time. What the numbers mean depends on the act.
struct step {
    std::chrono::microseconds at{0};
    act what = act::acquire;
    unsigned who = 0; ///< a client or a server
    unsigned path = 0;
    std::uint32_t choice = 0;              ///< which of several things there are at that time
    std::chrono::milliseconds duration{0}; ///< of a fault; how long a lock is held
    bool look_once = false;
    bool other_options = false; ///< than others of its client, which contradicts them where they are in use
    unsigned max_attempts = 0;
    std::optional<std::chrono::milliseconds> deadline;
    std::optional<std::chrono::microseconds> withdraw_after;
};

/// Whose users act.
enum class recipe : std::uint8_t {
    mutex,
    reentrant_mutex,
    multi_lock,
    election,
    semaphore,
    shared_mutex,
    owned_shared_mutex,
    transaction,
    revocation,
    node_watch
};

/// A whole schedule: what a seed means. `faults` is empty until a failing one is shrunk; the faults then stand there,
/// and none is placed by chance.
struct plan {
    std::uint64_t seed = 0;
    recipe which = recipe::mutex;
    settings set;
    std::vector<step> steps; ///< in order of time
    std::optional<std::vector<placed_fault>> faults;

    /// The options of an acquire.
    [[nodiscard]] const agreed_options& agreed(const step& s) const { return set.agreed[s.other_options ? 1 : 0]; }
};

/// What --stale-leaders, --scarce-memory, --closed-asleep, --peers, --dead-peers and --recipe choose.
struct kind_of_plan {
    recipe which = recipe::mutex;
    bool stale_leaders = false; ///< leaders are paused too, and answer from the past when they wake
    bool scarce_memory = false; ///< clients run out of memory now and then
    bool closed_asleep = false; ///< each client is paused, and closed before it goes on
    peer_life peers = peer_life::none;
};

/// Its contenders are readers and writers.
[[nodiscard]] constexpr bool is_shared(recipe r) noexcept
{
    return r == recipe::shared_mutex || r == recipe::owned_shared_mutex;
}

[[nodiscard]] plan make_plan(std::uint64_t seed, kind_of_plan kind = {});
/// Nothing goes wrong in it, nobody interferes, and messages are at worst slow.
enum class company : bool { none, others_queue };
[[nodiscard]] bool is_calm(const plan& p, company allowed = company::others_queue);
[[nodiscard]] std::string describe(const plan& p);

} // namespace zklock::simulator
