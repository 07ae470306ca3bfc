#pragma once
#include "bridge/host_list.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zklock::bridge {

/// Turns a host list into addresses in the form in which the C client takes them, without blocking anybody.
/// Belongs to the strand. Asio's resolver, and with it a thread, is only made when there is a name to resolve.
class host_resolver : public std::enable_shared_from_this<host_resolver> {
public:
    using strand_type = boost::asio::strand<boost::asio::any_io_executor>;
    using failed = std::function<void(const host_port&, const boost::system::error_code&)>;
    using resolved = std::function<void(std::vector<std::string> addresses)>;

    explicit host_resolver(const strand_type& strand) : strand_(strand) {}

    /// Calls `done` later with all addresses found, maybe none, and before that `miss` for each name without any.
    void resolve(const std::vector<host_port>& servers, failed miss, resolved done);

    /// `done` is still to come.
    [[nodiscard]] bool busy() const noexcept { return done_ != nullptr; }
    /// What is known meanwhile: the addresses that stand in the list, and those of the names that were answered.
    [[nodiscard]] const std::vector<std::string>& found() const noexcept { return addresses_; }

    /// Forgets what is under way; its functions will not be called.
    void cancel();

private:
    using resolver_type = boost::asio::ip::basic_resolver<boost::asio::ip::tcp, strand_type>;
    void resolve_next();
    void add(const boost::asio::ip::tcp::endpoint& endpoint);

    strand_type strand_;
    std::unique_ptr<resolver_type> resolver_;
    std::vector<host_port> names_;
    std::size_t next_ = 0;
    std::vector<std::string> addresses_;
    failed miss_;
    resolved done_;
    std::uint64_t turn_ = 0;
};

} // namespace zklock::bridge
