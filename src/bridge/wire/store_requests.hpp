#pragma once
#include "bridge/wire/inbox.hpp"
#include "bridge/wire/server_watches.hpp"
#include "runtime/client_store.hpp"
#include "runtime/turns.hpp"
#include "store/store.hpp"
#include "zklock/client_options.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct _zhandle;
struct Stat;

namespace zklock::bridge {

class library_access;
class wire;

/// What the recipes ask of the servers. Each request is handed to the C client in the epoch of which the caller has
/// been told, and its answer put into the inbox. What comes after the end of that epoch cannot be sent, and is answered
/// before the caller is told of the end.
class store_requests : public runtime::client_store {
public:
    void create(std::string_view path, std::string_view data, store::node_kind kind, const access_list* access,
                create_done) final;
    void remove(std::string_view path, std::int32_t version, reply_done) final;
    void set(std::string_view path, std::string_view data, std::int32_t version, stat_done) final;
    void batch(std::span<const store::batch_write> writes, batch_done) final;
    void exists(std::string_view path, bool watch, stat_done) final;
    void get(std::string_view path, bool watch, get_done) final;
    void children(std::string_view path, bool watch, children_done) final;
    void get_acl(std::string_view path, access_done) final;
    void set_acl(std::string_view path, const access_list&, std::int32_t acl_version, reply_done) final;
    void unwatch(std::string_view path, reply_done) final;
    void sync(std::string_view path, reply_done) final;

    // For the wire, in its calls:

    /// There is a connection, of that handle. Returns the connection's number.
    std::uint64_t begin_epoch(_zhandle* handle) noexcept
    {
        handle_ = handle;
        return ++epoch_;
    }
    [[nodiscard]] bool in_epoch() const noexcept { return handle_ != nullptr; }
    /// It has ended: no watch outlives it. `left`: the handle, if there is one any more. All requests are answered.
    void end_epoch(_zhandle* left);
    [[nodiscard]] std::size_t unanswered() const noexcept { return unanswered_; }
    /// An answer left its outcome open: nothing more may come on this connection.
    [[nodiscard]] bool in_doubt() const noexcept { return in_doubt_; }
    void forget_doubt() noexcept { in_doubt_ = false; }
    /// The watch of a node has fired, and this is its path on the server.
    void fired(std::string_view path, store::event_kind);

protected:
    /// These need not live yet.
    store_requests(runtime::turns&, inbox&, wire&, const client_options&, std::string chroot);
    ~store_requests() override;

    /// The wire has the connection of which the caller has been told.
    [[nodiscard]] bool knows_connection() const noexcept { return knows_epoch() && epoch_ == known_epoch_; }
    [[nodiscard]] bool knows_epoch() const noexcept { return known_epoch_ != none; }
    void told_of(std::uint64_t epoch) noexcept { known_epoch_ = epoch; }
    void told_of_loss() noexcept { known_epoch_ = none; }

    /// Asks for any answer, so that the socket becomes readable.
    void nudge();

    /// How much is to be told.
    [[nodiscard]] std::size_t to_be_told() const noexcept { return inbox_.size() + unsent_.size(); }
    /// What is to be told next. The inbox is not empty.
    [[nodiscard]] message take_next() noexcept;
    /// What is never answered any more, to be destroyed by who calls this.
    [[nodiscard]] auto take_unsent() noexcept { return std::exchange(unsent_, {}); }
    /// Takes the results of a batch whose answer was given: their memory serves later batches.
    void take_back(std::unique_ptr<batch_results>);

private:
    enum class answered_by : std::uint8_t { any_server, leader };
    /// Makes a request, by that call into the library; or by one that finds the path on the server in `path_`.
    template <class Done, class Call> void submit(answered_by, Done, Call call);
    template <class Done, class Call> void submit(answered_by, std::string_view path, Done, Call call);
    template <class Call> void hand_over(std::unique_ptr<request>, Call call);
    void answer_unsent(std::unique_ptr<request>);
    void reject(std::unique_ptr<request>, int code);

    /// The library has an answer, into which `fill` puts what came with it.
    template <class Fill> static void finish(int code, const void* context, Fill fill) noexcept;
    static void on_void(int code, const void* context) noexcept;
    static void on_stat(int code, const ::Stat* stat, const void* context) noexcept;
    void accept(answer&&, int code);
    [[nodiscard]] store::outcome outcome_of(const request&, int code) noexcept;

    void put_on_server(std::string_view path);
    void arms(request& r, watch_kind what) const
    {
        r.watch = what;
        r.path = path_;
    }
    [[nodiscard]] std::string_view without_chroot(std::string_view path) const;

    /// Nobody is told anything any more.
    [[nodiscard]] virtual bool is_over() const noexcept = 0;
    [[nodiscard]] virtual bool may_send() const noexcept = 0;
    /// In a turn, before one is sent.
    virtual void hold_back() = 0;
    /// There is something in the inbox.
    virtual void deliver_later() = 0;

    static constexpr std::uint64_t none = 0;

    runtime::turns& turns_;
    inbox& inbox_;
    wire& wire_;
    const client_options& options_;
    const std::string chroot_;
    std::string path_;                    // of the request that is being made, on the server
    _zhandle* handle_ = nullptr;          // while there is a connection
    std::uint64_t epoch_ = none;          // counts the connections
    std::uint64_t known_epoch_ = none;    // as the caller knows it
    std::uint64_t read_failed_in_ = none; // the last that was given up for a read at which the server had failed
    std::size_t unanswered_ = 0;
    bool in_doubt_ = false;
    server_watches watches_;
    std::vector<std::unique_ptr<batch_results>> spare_results_;
    const std::unique_ptr<library_access> access_; // as the library takes it, of the request that is being made
    std::list<std::unique_ptr<request>> unsent_;   // of an epoch that has ended, which the caller has not been told yet
};

} // namespace zklock::bridge
