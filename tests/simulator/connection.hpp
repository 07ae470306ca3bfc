#pragma once
#include "testing/watches.hpp"
#include "world.hpp"

#include <deque>

namespace zklock::simulator {

using testing::allowed_by;
using testing::is_valid;
using testing::operation;
using testing::permissions;
using testing::shared_access;
using testing::transaction;
using testing::without_hashes;
using testing::znode_tree;

struct request : testing::request {
    fate doom = fate::none;

    /// The first over a connection, with a session or for one.
    [[nodiscard]] bool connects() const noexcept { return writes(transaction::kind::open_session); }
    [[nodiscard]] bool goes_to_leader() const noexcept { return what == operation::write || what == operation::sync; }
};

struct answer : testing::answer {
    std::int64_t zxid = 0;                    ///< how far the server was
    std::vector<std::string> ends_withheld{}; ///< the watched nodes whose end the client was not told before this
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
    testing::watches watched;
    std::vector<std::string> ends_withheld; ///< since something was sent last
};

} // namespace zklock::simulator
