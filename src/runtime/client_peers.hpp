#pragma once
#include "store/peers.hpp"

namespace zklock::runtime {

/// Peers as a client has them, over the network.
class client_peers : public store::peers {
public:
    /// Ends everything now, and calls nobody and uses no executor afterwards. In a forked process, what is the parent's
    /// is left to it. `told_of_fork`: Asio has made kernel objects of its own for this process.
    virtual void stop(bool told_of_fork = false) noexcept = 0;
};

} // namespace zklock::runtime
