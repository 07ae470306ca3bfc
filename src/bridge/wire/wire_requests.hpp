#pragma once
#include "bridge/wire/inbox.hpp"
#include "bridge/wire/server_watches.hpp"
#include "bridge/wire/wire_log.hpp"
#include "zklock/client_options.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct _zhandle;

namespace zklock::bridge {

/// The requests of a wire. Each is handed to the C client, on the connection that is open, and its answer put into the
/// inbox; where there is no connection, it is answered at once. They may be made inside of the wire's calls only:
/// wire::send().
class wire_requests {
public:
    wire_requests(inbox&, wire_log&, const client_options&, std::string chroot);
    ~wire_requests();
    wire_requests(const wire_requests&) = delete;
    wire_requests& operator=(const wire_requests&) = delete;

    /// There is a connection, of that handle. `watcher`: what the C client calls for a watch is given that.
    void open(_zhandle* handle, void* watcher) noexcept
    {
        handle_ = handle;
        watcher_ = watcher;
    }
    [[nodiscard]] bool is_open() const noexcept { return handle_ != nullptr; }
    /// It has ended: no watch outlives it. `left`: the handle, if there is one any more. All requests are answered.
    void close(_zhandle* left);

    /// Each takes a path below the chroot.
    void create(std::unique_ptr<request>, std::string_view path, std::string_view data, store::node_kind kind,
                const access_list* access);
    void remove(std::unique_ptr<request>, std::string_view path, std::int32_t version);
    void set(std::unique_ptr<request>, std::string_view path, std::string_view data, std::int32_t version);
    void batch(std::unique_ptr<request>, std::span<const store::batch_write> writes);
    void exists(std::unique_ptr<request>, std::string_view path, bool watch);
    void get(std::unique_ptr<request>, std::string_view path, bool watch);
    void children(std::unique_ptr<request>, std::string_view path, bool watch);
    void get_acl(std::unique_ptr<request>, std::string_view path);
    void set_acl(std::unique_ptr<request>, std::string_view path, const access_list&, std::int32_t acl_version);
    void unwatch(std::unique_ptr<request>, std::string_view path);
    void sync(std::unique_ptr<request>, std::string_view path);
    /// Asks for any answer, so that the socket becomes readable.
    void nudge();

    [[nodiscard]] std::size_t unanswered() const noexcept { return unanswered_; }
    /// An answer left its outcome open: nothing more may come on this connection.
    [[nodiscard]] bool in_doubt() const noexcept { return in_doubt_; }
    void forget_doubt() noexcept { in_doubt_ = false; }
    /// The watch of a node has fired, and this is its path on the server.
    void fired(std::string_view path, store::event_kind);
    /// Takes the results of a batch whose answer was given: their memory serves later batches.
    void take_back(std::unique_ptr<batch_results>);

private:
    struct access_lists;
    friend struct callbacks;

    [[nodiscard]] std::string on_server(std::string_view path) const;
    [[nodiscard]] std::string_view without_chroot(std::string_view path) const;
    template <class Call> void submit(std::unique_ptr<request>, std::string_view path, Call call);
    void hand_over(std::unique_ptr<request>, int code); ///< what came of the library's call
    void reject(std::unique_ptr<request>, int code);
    void accept(answer, int code); ///< from the library's completions

    inbox& inbox_;
    wire_log& log_;
    const client_options& options_;
    const std::string chroot_;
    _zhandle* handle_ = nullptr; // while there is a connection
    void* watcher_ = nullptr;
    std::size_t unanswered_ = 0;
    bool in_doubt_ = false;
    server_watches watches_;
    std::vector<std::unique_ptr<batch_results>> spare_results_;
    const std::unique_ptr<access_lists> access_; // as the library takes them
};

} // namespace zklock::bridge
