#pragma once
#include "store/store.hpp"
#include "testing/znode_tree.hpp"
#include "world.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace zklock::simulator {

using testing::allowed_by;
using testing::is_valid;
using testing::permissions;
using testing::shared_access;
using testing::transaction;
using testing::without_hashes;
using testing::znode_tree;

enum class operation : std::uint8_t {
    connect,
    create,
    remove,
    set,
    batch,
    exists,
    get,
    children,
    get_acl,
    set_acl,
    unwatch,
    sync,
    ping,
    close_session
};

struct request {
    operation what = operation::ping;
    std::int64_t xid = 0;
    std::string path;
    std::string data;
    store::node_kind kind = store::node_kind::persistent;
    std::int32_t version = store::any_version;
    std::vector<transaction> parts; ///< of a batch
    shared_access access;           ///< of a create or a set_acl
    bool watch = false;
    fate doom = fate::none;
};

/// What a server sends: the answer to a request, or (xid 0) a node event.
struct answer {
    std::int64_t xid = 0;
    store::outcome result = store::outcome::ok;
    std::int64_t zxid = 0; ///< how far the server was
    std::string path;
    std::string data;
    store::node_stat stat;
    std::vector<std::string> names;    ///< of children, or the paths that a batch created
    std::vector<store::node_stat> set; ///< the nodes whose data a batch set
    std::size_t failed = store::batch_reply::no_write;
    shared_access access; ///< of a get_acl
    store::event_kind event = store::event_kind::created;
    std::vector<std::string> ends_withheld; ///< the watched nodes whose end the client was not told before this
    std::int64_t session = 0; ///< to connect: the session that goes on or begins; 0 if the one asked for is over
    std::chrono::milliseconds session_timeout{0}; ///< likewise: what it is granted
};

struct connection;
using connection_ptr = std::shared_ptr<connection>;

/// The client's end of its connections.
class endpoint {
public:
    virtual ~endpoint() = default;
    virtual void received(const connection_ptr& from, answer a) = 0;
    virtual void closed(const connection_ptr& which) = 0;
    instant blocked_until{0}; ///< nothing travels either way before; what was sent waits
};

/// One TCP connection. Its ends close at different times: what a server reads from a client that is gone, it executes.
struct connection {
    connection(endpoint& c, unsigned number, unsigned at_server, std::int64_t which)
        : client(c), client_number(number), server(at_server), id(which)
    {
    }

    endpoint& client;
    unsigned client_number;
    unsigned server;
    std::int64_t id;

    bool client_open = true;
    bool server_open = true;
    instant last_to_server{0};
    instant last_to_client{0};

    // the server's end
    std::int64_t session = 0;
    std::chrono::milliseconds session_timeout{0}; ///< that it grants
    std::int64_t last_zxid_seen = 0;              ///< what the client said when it connected
    std::deque<request> pending;                  ///< not answered yet; reads wait behind writes
    std::vector<std::string> watched;             ///< data watches, each once, also of nodes that are missing
    std::vector<std::string> children_watched;    ///< watches of children, likewise
    std::vector<std::string> ends_withheld;       ///< since something was sent last
};

} // namespace zklock::simulator
