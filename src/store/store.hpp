#pragma once
#include "store/unique_function.hpp"
#include "zklock/events.hpp"
#include "zklock/node.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::store {

/// How the server answered, or why it did not.
enum class outcome : std::uint8_t {
    ok,
    no_node,
    node_exists,
    not_empty,
    no_auth,          ///< the ACL forbids it
    no_child_allowed, ///< the parent is an ephemeral node
    invalid_acl,      ///< an access list that the servers do not take
    bad_version,      ///< the node's version is another than the one asked for
    bad_arguments,
    unimplemented, ///< the server is too old for the operation
    no_watcher,    ///< unwatch: there was no such watch
    quota_exceeded,
    server_error, ///< any other error the server gave
    unknown,      ///< the connection or the session ended first: it may have been done, or not, or not yet
};

using zklock::any_version;
using zklock::node_kind;
using zklock::node_stat;

[[nodiscard]] constexpr bool is_sequential(node_kind kind) noexcept
{
    return kind == node_kind::persistent_sequential || kind == node_kind::ephemeral_sequential;
}
[[nodiscard]] constexpr bool is_ephemeral(node_kind kind) noexcept
{
    return kind == node_kind::ephemeral || kind == node_kind::ephemeral_sequential;
}

/// The longest request the servers read, unless their jute.maxbuffer says otherwise: they hang up on a client that
/// sends more.
inline constexpr std::size_t largest_request = 0xfffff;

/// How many bytes of a request it takes.
[[nodiscard]] inline std::size_t size_of(const access_list& access) noexcept
{
    constexpr std::size_t number = 4; // an entry has three: what it allows, and how long its texts are
    std::size_t bytes = number;
    for (const access_entry& entry : access.entries())
        bytes += 3 * number + entry.scheme.size() + entry.id.size();
    return bytes;
}

/// Common to all answers. `sent` is when the request was made: the server heard of the session no earlier than that.
struct reply {
    outcome result = outcome::unknown;
    lease_clock::time_point sent{};
    bool undone = false; ///< with `unknown`: it is certain after all that it was not done, and never will be
};
struct create_reply : reply {
    std::string_view path; ///< with the sequence number; valid during the call
    node_stat stat;
};
struct stat_reply : reply {
    node_stat stat;
};
struct get_reply : reply {
    std::string_view data; ///< valid during the call
    node_stat stat;
};
/// The names are relative to the parent, in no order. There are none unless ok; but there always is a list.
struct children_reply : reply {
    static inline const std::vector<std::string> no_names{};

    const std::vector<std::string>* names = &no_names; ///< valid during the call
    node_stat stat;                                    ///< the parent's
};

struct access_reply : reply {
    const access_list* access = nullptr; ///< valid during the call; null unless ok
    node_stat stat;
};

/// One of several writes that are done together or not at all.
struct batch_write {
    using kind = transaction::operation::kind;
    kind what = kind::check;
    std::string_view path{};
    std::string_view data{};                             ///< for create and set
    node_kind created = node_kind::ephemeral_sequential; ///< for create; not a container
    std::int32_t version = any_version;                  ///< for remove, set and check
    const access_list* access = nullptr;                 ///< for create; null: the client's
};
struct batch_reply : reply {
    /// Paths of the nodes created, in the order of their writes; valid during the call, empty unless ok.
    std::span<const std::string_view> created;
    /// The nodes whose data was set, in the order of their writes; valid during the call, empty unless ok.
    std::span<const node_stat> set;
    /// Which write failed, by its index, if the server said that it was one of them; else no_write.
    std::size_t failed = no_write;
    static constexpr std::size_t no_write = static_cast<std::size_t>(-1);
};

/// How the server answered when a connection was made.
struct connect_reply {
    std::int64_t session_id = 0;
    std::chrono::milliseconds session_timeout{}; ///< as the server grants it
    bool renewed = false;                        ///< the session is not the one of the last connection, or is the first
    lease_clock::time_point sent{};              ///< when TCP was connected: the leader saw the session after that
    bool may_lag = false; ///< what was seen on earlier connections is forgotten: the server may not have got so far
};

enum class event_kind : std::uint8_t { created, deleted, data_changed, children_changed };

/// Who is told about the session. Calls come on the strand, through the same first-in-first-out as the replies.
class observer {
public:
    virtual ~observer() = default;

    virtual void on_connected(const connect_reply&) = 0;
    /// The connection ended. Every request sent on it has been answered before this call.
    virtual void on_disconnected() = 0;
    /// The server said that the session is over: its nodes are gone. A new one is being opened. Comes while
    /// disconnected.
    virtual void on_expired() = 0;
    /// Every server that answered has refused the credentials. Nothing follows but the answer to close().
    virtual void on_authentication_failed() = 0;
    /// A watch fired, and is no longer armed. Never a session event.
    virtual void on_node_event(event_kind kind, std::string_view path) = 0;
};

/// The handful of ZooKeeper operations the recipes need, over one session at a time.
///
/// **Order.** Requests are executed by the server in the order of the calls. Replies, node events and session events
/// come through one FIFO in the order in which they arrived, never inside a call to the store.
///
/// **Epochs.** From on_connected to on_disconnected is one epoch. Requests may be made only inside an epoch; each is
/// answered exactly once, before the epoch's on_disconnected. `outcome::unknown` is only ever given on the way to it,
/// to every request that is unanswered then or made after: a caller that sees it makes none until the next epoch.
/// No watch survives an epoch. (Where the C client does otherwise, the bridge hides it.)
///
/// **Lifetime.** After the answer to close() nobody is called. Once the store is destroyed, nobody is called at all.
///
/// Paths are absolute and below the client's chroot, which the store adds and takes off again. They have been checked.
class node_store {
public:
    using reply_done = unique_function<void(const reply&)>;
    using create_done = unique_function<void(const create_reply&)>;
    using stat_done = unique_function<void(const stat_reply&)>;
    using batch_done = unique_function<void(const batch_reply&)>;
    using get_done = unique_function<void(const get_reply&)>;
    using children_done = unique_function<void(const children_reply&)>;
    using access_done = unique_function<void(const access_reply&)>;

    virtual ~node_store() = default;

    /// Sets who is told about the session, before anything else is called.
    virtual void attach(observer&) = 0;

    /// Creates a node with that access list, or with the client's if it is null. The list need not outlive the call.
    virtual void create(std::string_view path, std::string_view data, node_kind kind, const access_list* access,
                        create_done) = 0;

    /// Deletes a node of that version.
    virtual void remove(std::string_view path, std::int32_t version, reply_done) = 0;

    /// Replaces a node's data, if it has that version.
    virtual void set(std::string_view path, std::string_view data, std::int32_t version, stat_done) = 0;

    /// Does all the writes in their order, in one transaction, or none of them: at least one, and not more than fit
    /// into the servers' packets. What they refer to need not outlive the call. Nodes it creates share one czxid, which
    /// the answer does not tell.
    virtual void batch(std::span<const batch_write> writes, batch_done) = 0;

    /// Reads a node's Stat. With `watch`, and if the answer is ok or no_node, on_node_event() tells when the node is
    /// created, changed or deleted next.
    virtual void exists(std::string_view path, bool watch, stat_done) = 0;

    /// Reads a node. With `watch`, and if the answer is ok, on_node_event() tells of its next change or deletion.
    virtual void get(std::string_view path, bool watch, get_done) = 0;

    /// Lists the children. With `watch`, and if the answer is ok, on_node_event() tells when one comes or goes next, or
    /// the node itself is deleted.
    virtual void children(std::string_view path, bool watch, children_done) = 0;

    /// Reads a node's access list.
    virtual void get_acl(std::string_view path, access_done) = 0;

    /// Replaces a node's access list, if its version is that one. The list need not outlive the call.
    virtual void set_acl(std::string_view path, const access_list&, std::int32_t acl_version, reply_done) = 0;

    /// Takes back the watches of exists(), get() and children() on a node, here and on the server.
    virtual void unwatch(std::string_view path, reply_done) = 0;

    /// Answered when the server has caught up with the leader as of this call; later reads see at least that.
    virtual void sync(std::string_view path, reply_done) = 0;

    /// Ends the epoch as if the connection were lost; and the session, with its nodes, as soon as a server can be told.
    /// Then on_expired() follows.
    virtual void give_up_session() = 0;

    /// Ends the session, so that its nodes go away at once if there is a connection. Unanswered requests are answered
    /// `unknown` first. Bounded in time, and never blocks the strand. Once only, at any moment, connected or not.
    virtual void close(std::function<void()> closed) = 0;
};

} // namespace zklock::store
