#pragma once
#include "bridge/turns.hpp"
#include "store/store.hpp"
#include "zklock/client_options.hpp"
#include "zklock/result.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/strand.hpp>

#include <memory>

namespace zklock::bridge {

class connection;

/// The store over the ZooKeeper C client, on an Asio strand. It starts no thread (but for host names, see name_lookups),
/// blocks nobody, and keeps reconnecting until close().
///
/// Everything is called on the strand, except the constructor, attach() and configuration_error(), which come before
/// anything runs there. While the store lives and is not closed, it keeps the executor in work.
class zookeeper_store final : public store::store {
public:
    /// The requests of a turn leave together, at its end.
    zookeeper_store(const boost::asio::strand<boost::asio::any_io_executor>& strand, const client_options& options,
                    const std::shared_ptr<turns>& = std::make_shared<turns>());

    /// Drops everything, and closes the session as far as that needs no waiting.
    ~zookeeper_store() override;

    zookeeper_store(const zookeeper_store&) = delete;
    zookeeper_store& operator=(const zookeeper_store&) = delete;

    /// Why this store will never connect: `errc::invalid_option` for a host list or a chroot that cannot be read.
    [[nodiscard]] error_code configuration_error() const noexcept { return configuration_error_; }

    /// Connected, and every request was answered, and told.
    [[nodiscard]] bool waits_for_nothing() const noexcept;

    /// Begins to connect.
    void attach(zklock::store::observer&) override;

    void create(std::string_view path, std::string_view data, zklock::store::node_kind kind, create_done) override;
    void remove(std::string_view path, std::int32_t version, done) override;
    void set(std::string_view path, std::string_view data, std::int32_t version, stat_done) override;
    void batch(std::span<const zklock::store::batch_write> writes, batch_done) override;
    void exists(std::string_view path, stat_done) override;
    void get(std::string_view path, bool watch, get_done) override;
    void children(std::string_view path, bool watch, children_done) override;
    void unwatch(std::string_view path, done) override;
    void sync(std::string_view path, done) override;
    void close(std::function<void()> closed) override;
    void give_up() noexcept override;

    /// The execution context is going away: ends everything at once, calls no function, and uses no executor again.
    /// Or this is a forked process, and the context was told so.
    void shutdown(bool told_of_fork = false);

private:
    error_code configuration_error_;
    std::shared_ptr<connection> connection_;
};

} // namespace zklock::bridge
