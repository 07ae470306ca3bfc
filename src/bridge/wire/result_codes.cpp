#include "bridge/wire/result_codes.hpp"

#include <zookeeper/zookeeper.h>

namespace zklock::bridge {

store::outcome to_outcome(int code) noexcept
{
    using store::outcome;
    switch (code) {
    case ZOK: return outcome::ok;
    case ZNONODE: return outcome::no_node;
    case ZNODEEXISTS: return outcome::node_exists;
    case ZNOTEMPTY: return outcome::not_empty;
    case ZNOAUTH: return outcome::no_auth;
    case ZNOCHILDRENFOREPHEMERALS: return outcome::no_child_allowed;
    case ZINVALIDACL: return outcome::invalid_acl;
    case ZBADVERSION: return outcome::bad_version;
    case ZBADARGUMENTS: return outcome::bad_arguments;
    case ZUNIMPLEMENTED: return outcome::unimplemented;
    case ZNOWATCHER: return outcome::no_watcher;
    case -125: return outcome::quota_exceeded; // newer servers than the header
    // The connection or the session ended, or the library and the server do not agree on what was asked.
    case ZSYSTEMERROR:
    case ZRUNTIMEINCONSISTENCY:
    case ZDATAINCONSISTENCY:
    case ZCONNECTIONLOSS:
    case ZMARSHALLINGERROR: // the server gives it for any failure after it may have acted
    case ZOPERATIONTIMEOUT:
    case ZINVALIDSTATE:
    case ZSESSIONEXPIRED:
    case ZAUTHFAILED:
    case ZCLOSING:
    // It was not done, but no other answer can be had on this connection: it is sent once more on the next.
    case ZSESSIONMOVED:
    case ZTHROTTLEDOP: return outcome::unknown;
    default: return outcome::server_error;
    }
}

/// The servers look at a session, and at the connection that it has, before they do what it asks. When the library
/// itself gives the session's end as an answer, the request never left: requests that had left were told of the loss of
/// their connection. A request that is throttled is not done either, but what was sent after it may be: to send it once
/// more would change the order.
bool is_undone(int code) noexcept
{
    return code == ZSESSIONMOVED || code == ZSESSIONEXPIRED;
}

int to_mode(store::node_kind kind) noexcept
{
    switch (kind) {
    case store::node_kind::persistent: return ZOO_PERSISTENT;
    case store::node_kind::persistent_sequential: return ZOO_PERSISTENT_SEQUENTIAL;
    case store::node_kind::ephemeral: return ZOO_EPHEMERAL;
    case store::node_kind::ephemeral_sequential: return ZOO_EPHEMERAL_SEQUENTIAL;
    case store::node_kind::container: return ZOO_CONTAINER;
    }
    return ZOO_PERSISTENT;
}

} // namespace zklock::bridge
