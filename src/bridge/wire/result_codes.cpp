#include "bridge/wire/result_codes.hpp"

#include "bridge/wire/c_client.hpp"

namespace zklock::bridge {

namespace {

// Servers know codes that the header does not.
constexpr int request_timeout = -122;
constexpr int quota_exceeded = -125;

} // namespace

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
    case quota_exceeded: return outcome::quota_exceeded;
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
    case request_timeout: // the request may be done later
    // It was not done, but no other answer can be had on this connection: it is sent once more on the next.
    case ZSESSIONMOVED:
    case ZSESSIONCLOSEDREQUIRESASLAUTH: // the server hangs up behind it
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
    return code == ZSESSIONMOVED || code == ZSESSIONEXPIRED || code == ZSESSIONCLOSEDREQUIRESASLAUTH;
}

std::string words_for(int code)
{
    switch (code) {
    case ZMARSHALLINGERROR: return "MARSHALLINGERROR (-5): the server has failed at a request, and its log says why";
    case ZEPHEMERALONLOCALSESSION:
        return "EPHEMERALONLOCALSESSION (-120): the session is known to that server only, which does not make it known "
               "to the others (localSessionsUpgradingEnabled); so it can have no locks";
    case request_timeout: return "REQUESTTIMEOUT (-122): the request has taken too long";
    case ZRECONFIGDISABLED: return "RECONFIGDISABLED (-123): the ensemble may not be changed by its clients";
    case quota_exceeded:
        return "QUOTAEXCEEDED (-125): a quota of the node or of one above it is used up (enforceQuota)";
    case ZTHROTTLEDOP: return "THROTTLEDOP (-127): the server has too much to do, and has not done what was asked";
    default: break;
    }
    if (to_outcome(code) != store::outcome::server_error)
        return {};
    return "error " + std::to_string(code) + ", which this library does not know";
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
