#pragma once
#include "runtime/stores_in_memory.hpp"
#include "testing/memory_ensemble.hpp"
#include "testing/request.hpp"
#include "testing/requesting_store.hpp"

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace zklock::testing {

/// A client's store over an ensemble in memory. On the client's strand, but for receive(), lose() and post().
class memory_store final : public requesting_store<runtime::client_store, std::monostate>,
                           public std::enable_shared_from_this<memory_store> {
public:
    memory_store(std::shared_ptr<memory_ensemble>, runtime::store_surroundings);

    // From the ensemble, on any thread.
    void receive(std::uint64_t connection, answer);
    void lose(std::uint64_t connection);
    void may_connect(); ///< the servers can be reached again
    /// Runs the function on the client's strand; drops it if the store is stopped.
    void post(std::function<void(memory_store&)>);

    /// What this client has to do next, and the time it sees. On the strand.
    [[nodiscard]] lease_clock::time_point next_deadline() const;
    void look_again();

    void attach(store::observer&) override;
    void give_up_session() override;
    void close(std::function<void()> closed) override;

    void stop(bool told_of_fork) override;
    void cut() override;
    [[nodiscard]] std::optional<lease_clock::duration> unconnected_for() const override;
    [[nodiscard]] std::map<std::string, std::string> failures() override;
    [[nodiscard]] const std::optional<boost::asio::ip::address>& local_address() const noexcept override
    {
        return no_address_;
    }
    [[nodiscard]] bool is_insecure() const noexcept override { return false; }
    [[nodiscard]] bool waits_for_nothing() const noexcept override
    {
        return connection_ != 0 && !ending_ && waiting_.empty();
    }

private:
    struct waiting {
        lease_clock::time_point sent{};
        callback call;
        bool unsent = false;
    };

    void attempt();
    void attempt_later(lease_clock::duration);
    void begin_epoch(const memory_ensemble::connected&, lease_clock::time_point asked);
    void end_epoch();
    void answer_unknown();
    void epoch_ended();
    void keep_alive();
    void deliver(answer);
    void answer_first(const answer&);
    void submit(request, callback) override;
    void complete(transaction&) const;
    [[nodiscard]] std::string full(std::string_view path) const;
    void take_chroot_off(std::string& path) const;

    const std::shared_ptr<memory_ensemble> servers_;
    const std::string chroot_;
    const ::pid_t process_;
    const std::optional<boost::asio::ip::address> no_address_;
    std::mutex posting_; // guards that it is there
    std::optional<runtime::store_surroundings> around_;

    store::observer* observer_ = nullptr;
    std::uint64_t connection_ = 0; ///< 0: none
    bool ending_ = false;          ///< it is lost, and not all that was asked for is answered
    std::int64_t session_ = 0;
    std::int64_t told_session_ = 0;
    std::chrono::milliseconds timeout_{};
    bool gives_up_ = false; ///< the session is ended, and the client not told
    std::uint64_t last_number_ = 0;
    std::deque<waiting> waiting_;
    lease_clock::time_point heard_{};
    store::scheduler::timer_id attempt_timer_ = 0;
    static constexpr std::chrono::milliseconds first_pause{50}, longest_pause{1'000}; ///< between attempts to connect
    std::chrono::milliseconds pause_ = first_pause;                                   ///< before the next
    std::optional<lease_clock::time_point> lost_at_; ///< since there was a connection, or the beginning
    bool closing_ = false;
};

} // namespace zklock::testing
