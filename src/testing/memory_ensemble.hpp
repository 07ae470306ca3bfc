#pragma once
#include "testing/request.hpp"
#include "testing/request_rules.hpp"
#include "testing/watches.hpp"
#include "testing/znode_tree.hpp"
#include "zklock/events.hpp"
#include "zklock/testing/ensemble.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace zklock::testing {

class memory_store;

/// The servers of an ensemble in memory, as one: nodes, sessions, watches, and what a test has befall the clients.
/// Requests are executed on the caller's thread; a thread of its own does what time brings: expiries and late answers.
/// It knows stores as somebody to post to. Everything may be called from any thread.
class memory_ensemble : public std::enable_shared_from_this<memory_ensemble> {
public:
    using time_point = lease_clock::time_point;

    /// `exists_needs_read`: as with servers from 3.8.4 and 3.9.2 on; earlier ones tell everybody of any node.
    explicit memory_ensemble(std::string name, bool exists_needs_read = true);
    ~memory_ensemble();
    memory_ensemble& operator=(memory_ensemble&&) = delete;

    /// The one of that name in this process. Null if there is none.
    [[nodiscard]] static std::shared_ptr<memory_ensemble> find(std::string_view name);
    /// How many have a name that clients find.
    [[nodiscard]] static std::size_t count();

    /// Clients that are made from now on find it by its name. @throws std::invalid_argument if another one has it
    void begin();
    /// All connections end, and none is made any more.
    void end();
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    // --- for the stores ----------------------------------------------------------------------------------------------

    struct connected {
        std::uint64_t connection = 0; ///< 0: nobody has answered, or the session is over
        bool expired = false;
        std::int64_t session = 0;
        std::chrono::milliseconds timeout{};
    };
    /// A new connection, for that session, or for a new one if it is 0.
    connected connect(const std::shared_ptr<memory_store>&, std::int64_t session, std::chrono::milliseconds timeout);
    void send(std::uint64_t connection, request);
    /// The client hangs up. The session goes on.
    void hang_up(std::uint64_t connection);
    void end_session(std::uint64_t connection);
    /// Why a client that lost that session cannot connect; empty if it can.
    [[nodiscard]] std::string why_unreachable(std::int64_t session) const;

    // --- for the public class ----------------------------------------------------------------------------------------

    [[nodiscard]] request_rules& rules() noexcept { return rules_; }
    znode_tree::effect change(transaction);
    [[nodiscard]] std::optional<node_content> read(const std::string& path) const;
    [[nodiscard]] std::vector<std::string> children(const std::string& path) const;
    [[nodiscard]] std::vector<std::int64_t> sessions() const;
    /// The session of somebody else than the clients, who never falls silent.
    [[nodiscard]] std::int64_t foreign_session();
    void expire(std::int64_t session);
    void cut(std::int64_t session);
    void part(std::int64_t session);
    void mend(std::int64_t session);
    void stop();
    void start();

    /// The clock was moved: does what is due, and has clients look.
    void look_again();
    /// When something is due next here; the end of time if nothing is.
    [[nodiscard]] time_point next_due() const;
    /// Grows with everything that clients ask and are told.
    [[nodiscard]] std::uint64_t activity() const;
    [[nodiscard]] std::vector<std::shared_ptr<memory_store>> clients() const;

private:
    struct session {
        std::chrono::milliseconds timeout{}; ///< 0: it never falls silent
        time_point over{};                   ///< if nothing is heard before
    };
    /// A connection: what is on its way, and its watches.
    struct link {
        const std::uint64_t number;
        const std::shared_ptr<memory_store> client;
        const std::int64_t session;

        bool mute = false;                                   ///< the client is told nothing any more
        std::deque<request> waiting{};                       ///< while the client is parted
        std::deque<std::pair<time_point, answer>> answers{}; ///< and when they are due
        watches watched{};
    };
    using links = std::map<std::uint64_t, link>;

    // With the mutex held.
    void serve(links::iterator, request);
    answer execute(link&, const request&);
    znode_tree::effect apply(transaction);
    void fire(const znode_tree::effect&);
    void answer_later(link&, answer, time_point due);
    void deliver(link&);
    void drop(links::iterator);
    void drop_session(std::int64_t);
    void close_session(std::int64_t);
    void heard(std::int64_t session);
    void do_what_is_due();
    [[nodiscard]] time_point first_due() const;
    links::iterator link_of(std::int64_t session);
    void have_clients_connect();
    void run();

    const std::string name_;
    const bool exists_needs_read_;
    request_rules rules_;
    mutable std::mutex mutex_; // guards all below
    std::condition_variable woken_;
    bool ended_ = false;
    bool stopped_ = false;
    znode_tree tree_;
    std::vector<std::weak_ptr<memory_store>> clients_; ///< those that have tried to connect
    links links_;
    std::map<std::int64_t, session> sessions_;
    std::set<std::int64_t> parted_; ///< sessions, also those that are over
    std::uint64_t activity_ = 0;
    std::uint64_t last_connection_ = 0;
    std::int64_t last_session_ = 0x1000'0000;
    std::int64_t foreign_session_ = 0;
    std::int64_t zxid_ = 0;
    std::thread thread_;
};

} // namespace zklock::testing
