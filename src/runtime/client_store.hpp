#pragma once
#include "store/peers.hpp"
#include "store/store.hpp"
#include "zklock/events.hpp"

#include <boost/asio/ip/address.hpp>

#include <map>
#include <optional>
#include <string>

namespace zklock::runtime {

/// A store as a client has one: over its connection to an ensemble, or over an ensemble in memory. Everything is called
/// on the client's strand.
class client_store : public store::node_store {
public:
    /// Ends everything now, and calls nobody and uses no executor afterwards. In a forked process, the parent's
    /// connection is not touched. `told_of_fork`: Asio has made kernel objects of its own for this process.
    virtual void stop(bool told_of_fork = false) = 0;
    /// The same, with the connection cut, as by a loss: the servers keep the session until its time-out.
    virtual void cut() = 0;

    /// For how long there has been no connection; nothing while there is one. If one after the other is lost: for how
    /// long there has been none that proved itself, though there may be one now.
    [[nodiscard]] virtual std::optional<lease_clock::duration> unconnected_for() const = 0;
    /// How the last attempt to connect to each address has ended, since there was a connection, or how far the first
    /// one has come; why names have no address; and how many connections were lost, if one after the other is.
    [[nodiscard]] virtual std::map<std::string, std::string> failures() = 0;
    /// From which the present or last connection was made to its server; nothing before the first.
    [[nodiscard]] virtual const std::optional<boost::asio::ip::address>& local_address() const noexcept = 0;
    /// There is no connection, and the last attempt with each address has failed by TLS.
    [[nodiscard]] virtual bool is_insecure() const noexcept = 0;
    /// Connected, and every request was answered, and told.
    [[nodiscard]] virtual bool waits_for_nothing() const noexcept = 0;
};

/// Peers as a client has them, over the network.
class client_peers : public store::peers {
public:
    /// As client_store::stop(). In a forked process, what is the parent's is left to it.
    virtual void stop(bool told_of_fork = false) noexcept = 0;
};

} // namespace zklock::runtime
