#include "bridge/host_resolver.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace zklock::bridge {

namespace asio = boost::asio;
using asio::ip::tcp;

void host_resolver::resolve(const std::vector<host_port>& servers, failed miss, resolved done)
{
    cancel();
    names_.clear();
    for (const auto& server : servers)
        if (server.numeric)
            add({asio::ip::make_address(server.host), server.port});
        else
            names_.push_back(server);
    miss_ = std::move(miss);
    done_ = std::move(done);
    asio::post(strand_, [self = shared_from_this(), turn = turn_] {
        if (turn == self->turn_)
            self->resolve_next();
    });
}

void host_resolver::cancel()
{
    ++turn_;
    if (resolver_)
        resolver_->cancel();
    next_ = 0;
    addresses_.clear();
    miss_ = nullptr;
    done_ = nullptr;
}

void host_resolver::resolve_next()
{
    if (next_ == names_.size()) {
        auto done = std::exchange(done_, nullptr);
        done(std::exchange(addresses_, {}));
        return;
    }
    const auto& server = names_[next_];
    if (!resolver_)
        resolver_ = std::make_unique<resolver_type>(strand_);
    auto answer = [self = shared_from_this(), turn = turn_](const boost::system::error_code& ec,
                                                            const tcp::resolver::results_type& found) {
        if (turn != self->turn_)
            return;
        if (ec || found.empty())
            self->miss_(self->names_[self->next_], ec);
        for (const auto& entry : found)
            self->add(entry.endpoint());
        ++self->next_;
        self->resolve_next();
    };
    resolver_->async_resolve(server.host, std::to_string(server.port), tcp::resolver::numeric_service,
                             std::move(answer));
}

void host_resolver::add(const tcp::endpoint& endpoint)
{
    // The C client takes what follows the last colon for the port and knows no brackets.
    auto text = endpoint.address().to_string() + ':' + std::to_string(endpoint.port());
    if (std::find(addresses_.begin(), addresses_.end(), text) == addresses_.end())
        addresses_.push_back(std::move(text));
}

} // namespace zklock::bridge
