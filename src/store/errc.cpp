#include "zklock/errc.hpp"

#include <string>

namespace zklock {
namespace {

namespace generic = boost::system::errc;

class lock_errors final : public boost::system::error_category {
public:
    lock_errors() : error_category(0x3f2a'91c4'7be0'58d6) {} // equal across shared libraries

    const char* name() const noexcept override { return "zklock"; }

    std::string message(int value) const override
    {
        switch (static_cast<errc>(value)) {
        case errc::timed_out: return "the time is up, and others were first";
        case errc::busy: return "the lock is held or waited for by another";
        case errc::lost: return "the lock was lost";
        case errc::session_expired: return "the session expired";
        case errc::not_connected: return "not connected, or no answer of the servers in time";
        case errc::not_owner: return "the guard is empty, or what it holds is not this owner's";
        case errc::access_denied: return "access denied by the server";
        case errc::authentication_failed: return "the servers refuse the credentials, or demand others";
        case errc::no_such_chroot: return "the chroot's node does not exist";
        case errc::invalid_path: return "not a valid path for this";
        case errc::invalid_option: return "an option is out of range or contradicts those in use (the log names it)";
        case errc::over_budget: return "the session has as many nodes as its ensemble can bear";
        case errc::sequence_exhausted: return "the path has used up its sequence numbers";
        case errc::token_exhausted: return "the ensemble's transaction number is too large for a fencing token";
        case errc::server_error: return "the server reported an unexpected error (the log has its number)";
        case errc::closed: return "the client is closed";
        case errc::no_node: return "the node does not exist";
        case errc::node_exists: return "the node exists already";
        case errc::bad_version: return "the node has another version";
        case errc::not_empty: return "the node has children";
        case errc::outcome_unknown: return "the answer was lost: it may have been done";
        case errc::not_upgradable: return "a reader cannot become a writer";
        case errc::tls_failed: return "TLS has failed with all servers";
        case errc::quota_exceeded: return "a quota is used up";
        }
        return "unknown error";
    }

    /// Lets callers compare with the standard's conditions where there is one of the same meaning.
    boost::system::error_condition default_error_condition(int value) const noexcept override
    {
        switch (static_cast<errc>(value)) {
        case errc::timed_out: return generic::make_error_condition(generic::timed_out);
        case errc::busy: return generic::make_error_condition(generic::device_or_resource_busy);
        case errc::not_connected: return generic::make_error_condition(generic::not_connected);
        case errc::access_denied: return generic::make_error_condition(generic::permission_denied);
        case errc::not_owner: return generic::make_error_condition(generic::operation_not_permitted);
        case errc::no_node: return generic::make_error_condition(generic::no_such_file_or_directory);
        case errc::node_exists: return generic::make_error_condition(generic::file_exists);
        case errc::not_empty: return generic::make_error_condition(generic::directory_not_empty);
        case errc::not_upgradable: return generic::make_error_condition(generic::resource_deadlock_would_occur);
        case errc::invalid_path:
        case errc::invalid_option: return generic::make_error_condition(generic::invalid_argument);
        default: return {value, *this};
        }
    }
};

class lock_conditions final : public boost::system::error_category {
public:
    lock_conditions() : error_category(0x61d8'2be5'09fa'c374) {} // equal across shared libraries

    const char* name() const noexcept override { return "zklock condition"; }

    std::string message(int value) const override
    {
        return static_cast<condition>(value) == condition::not_in_time ? "not in time" : "unknown condition";
    }

    bool equivalent(const boost::system::error_code& ec, int value) const noexcept override
    {
        return static_cast<condition>(value) == condition::not_in_time &&
               (ec == errc::timed_out || ec == errc::not_connected || ec == errc::tls_failed);
    }
};

} // namespace

const boost::system::error_category& error_category() noexcept
{
    static const lock_errors category;
    return category;
}

const boost::system::error_category& condition_category() noexcept
{
    static const lock_conditions category;
    return category;
}

} // namespace zklock
