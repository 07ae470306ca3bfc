#pragma once
#include "adapter/client/client_core.hpp"
#include "adapter/client/client_counters.hpp"
#include "adapter/client/client_strand.hpp"
#include "adapter/client/context_service.hpp"
#include "adapter/client/pending_operations.hpp"
#include "adapter/client/strand_task.hpp"
#include "adapter/client/unopened_client.hpp"
#include "runtime/forks.hpp"
#include "zklock/client_options.hpp"
#include "zklock/events.hpp"
#include "zklock/result.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace zklock::detail {

/// The state that a client's handles, locks, guards and operations share.
///
/// It may outlive the execution context; what must not is the strand, the executor and the core, which go in
/// context_gone(). Everything is done on the strand unless it says otherwise.
///
/// **Failure.** Where memory fails in a turn, or the executor takes no more, the client fails as a whole: it holds,
/// grants and sends nothing any more, and what is left on the strand does nothing but end. See fail().
class client_state final : public client_strand, public std::enable_shared_from_this<client_state> {
public:
    /// Makes the state and starts to open it.
    [[nodiscard]] static std::shared_ptr<client_state> make(const asio::any_io_executor&, client_options);
    ~client_state();

    // From any thread: what it may ask of the client, as the strand has told it.

    [[nodiscard]] connection_state state() const noexcept
    {
        return is_forked() ? connection_state::closed : state_.load(std::memory_order_acquire);
    }
    [[nodiscard]] std::int64_t session_id() const noexcept
    {
        return is_forked() ? 0 : session_id_.load(std::memory_order_acquire);
    }
    /// The context is there, the session was not closed, and is this process's: what the recipes say still holds.
    [[nodiscard]] bool alive() const noexcept { return alive_.load(std::memory_order_acquire) && !is_forked(); }
    /// This is a copy in a process that was forked off after the client was opened: nobody tells it what becomes of its
    /// locks.
    [[nodiscard]] bool is_forked() const noexcept
    {
        const auto then = forks_.load(std::memory_order_relaxed);
        return then != not_opened && then != runtime::fork_count();
    }
    /// Why operations of a client that cannot be used end.
    [[nodiscard]] error_code why_unusable() const noexcept;
    /// The holds of the re-entrant locks.
    [[nodiscard]] const std::shared_ptr<recipes::hold_counts>& holds() const noexcept { return holds_; }
    [[nodiscard]] client_counters& counted() noexcept { return counted_; }
    /// Is called when the last handle goes: the client closes, and nobody is told when that is done.
    void close_in_background() noexcept;

    // On the strand.

    /// Null when nothing can be started: with invalid options, and once it closes.
    [[nodiscard]] client_core* open_core() const noexcept { return closing_ ? nullptr : core_.get(); }
    /// It is open, and TLS has failed with all servers.
    [[nodiscard]] bool is_insecure() const noexcept;
    [[nodiscard]] pending_operations& pending() noexcept { return pending_; }
    /// Ends the session, once. Those that have entered as the last are told when that is done.
    void close();
    [[nodiscard]] bool closed() const noexcept { return closed_ || !core_; }

    /// Called by the service, while nothing else runs.
    void context_gone() { drop_all(false); }
    /// Called by the service in a forked process: a client that was opened before belongs to the parent.
    void forked();

private:
    struct own_task final : strand_task {
        own_task(client_state& c, void (client_state::*w)()) : client(c), what(w) {}
        void run() override { (client.*what)(); }
        client_state& client;
        void (client_state::*what)();
    };

    client_state(const asio::any_io_executor&, client_options);
    [[nodiscard]] std::shared_ptr<strand_task> own(own_task& t) { return {shared_from_this(), &t}; }
    [[nodiscard]] std::shared_ptr<void> keep() override { return shared_from_this(); }
    [[nodiscard]] bool waits_for_nothing() const override { return core_ && core_->store->waits_for_nothing(); }
    void begin();
    void open();
    void finish_close();
    void fail(std::string_view words) noexcept override;
    void drop_all(bool told_of_fork);
    void drop_core() { core_.reset(); }

    void set(connection_state now) noexcept { state_.store(now, std::memory_order_release); }
    void set_session(std::int64_t id) noexcept { session_id_.store(id, std::memory_order_release); }
    /// It is alive no more.
    void ended(connection_state now) noexcept
    {
        alive_.store(false, std::memory_order_release);
        set(now);
        set_session(0);
    }

    static constexpr std::uint64_t not_opened = ~std::uint64_t{0};

    std::atomic<connection_state> state_{connection_state::connecting};
    std::atomic<std::int64_t> session_id_{0};
    std::atomic<bool> alive_{true};
    std::atomic<std::uint64_t> forks_{not_opened}; // of this process, when the client was opened
    unopened_client unopened_;
    std::shared_ptr<context_service<client_state>::registry> registry_;
    client_counters counted_;
    const std::shared_ptr<recipes::hold_counts> holds_ = std::make_shared<recipes::hold_counts>(&runtime::fork_count);
    own_task begin_{*this, &client_state::begin};
    own_task close_{*this, &client_state::close};
    own_task drop_core_{*this, &client_state::drop_core};
    std::shared_ptr<client_state> until_closed_; // this, while it closes
    std::unique_ptr<client_core> core_;
    pending_operations pending_;
    bool closing_ = false;
    bool closed_ = false;
};

/// What the handles of clients and locks share: the client closes when the last one goes.
class client_handle {
public:
    explicit client_handle(std::shared_ptr<client_state> state) : state_(std::move(state)) {}
    ~client_handle() { state_->close_in_background(); }
    client_handle& operator=(client_handle&&) = delete;

    [[nodiscard]] const std::shared_ptr<client_state>& state() const noexcept { return state_; }

private:
    std::shared_ptr<client_state> state_;
};

} // namespace zklock::detail
