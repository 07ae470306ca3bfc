#include "bridge/zookeeper_store.hpp"
#include "bridge/connection.hpp"
#include "bridge/host_list.hpp"

#include <utility>

namespace zklock::bridge {

namespace {

template <class Done> std::unique_ptr<request> make_request(Done done)
{
    auto r = std::make_unique<request>();
    r->done = std::move(done);
    return r;
}

} // namespace

zookeeper_store::zookeeper_store(const boost::asio::strand<boost::asio::any_io_executor>& strand,
                                 const client_options& options, const std::shared_ptr<turns>& turns)
{
    auto servers = parse_servers(options.servers);
    auto chroot = parse_chroot(options.chroot);
    if (!servers)
        configuration_error_ = servers.error();
    else if (!chroot)
        configuration_error_ = chroot.error();
    connection_ = configuration_error_
                      ? std::make_shared<connection>(strand, turns, options, std::vector<host_port>{}, std::string{})
                      : std::make_shared<connection>(strand, turns, options, servers.value(), chroot.value());
    turns->add(connection_);
}

zookeeper_store::~zookeeper_store() { connection_->stop(); }
bool zookeeper_store::waits_for_nothing() const noexcept { return connection_->waits_for_nothing(); }
void zookeeper_store::shutdown(bool told_of_fork) { connection_->stop(told_of_fork); }
void zookeeper_store::attach(zklock::store::observer& o) { connection_->start(o); }
void zookeeper_store::close(std::function<void()> closed) { connection_->close(std::move(closed)); }

void zookeeper_store::give_up() noexcept { connection_->give_up(); }

void zookeeper_store::create(std::string_view path, std::string_view data, zklock::store::node_kind kind,
                             create_done done)
{
    connection_->submit(make_request(std::move(done)), [&](wire& to, std::unique_ptr<request> r) {
        to.create(std::move(r), path, data, kind);
    });
}

void zookeeper_store::remove(std::string_view path, std::int32_t version, done done)
{
    connection_->submit(make_request(std::move(done)),
                        [&](wire& to, std::unique_ptr<request> r) { to.remove(std::move(r), path, version); });
}

void zookeeper_store::set(std::string_view path, std::string_view data, std::int32_t version, stat_done done)
{
    connection_->submit(make_request(std::move(done)),
                        [&](wire& to, std::unique_ptr<request> r) { to.set(std::move(r), path, data, version); });
}

void zookeeper_store::batch(std::span<const zklock::store::batch_write> writes, batch_done done)
{
    connection_->submit(make_request(std::move(done)),
                        [&](wire& to, std::unique_ptr<request> r) { to.batch(std::move(r), writes); });
}

void zookeeper_store::exists(std::string_view path, stat_done done)
{
    connection_->submit(make_request(std::move(done)),
                        [&](wire& to, std::unique_ptr<request> r) { to.exists(std::move(r), path); });
}

void zookeeper_store::get(std::string_view path, bool watch, get_done done)
{
    connection_->submit(make_request(std::move(done)),
                        [&](wire& to, std::unique_ptr<request> r) { to.get(std::move(r), path, watch); });
}

void zookeeper_store::children(std::string_view path, bool watch, children_done done)
{
    connection_->submit(make_request(std::move(done)),
                        [&](wire& to, std::unique_ptr<request> r) { to.children(std::move(r), path, watch); });
}

void zookeeper_store::unwatch(std::string_view path, done done)
{
    connection_->submit(make_request(std::move(done)),
                        [&](wire& to, std::unique_ptr<request> r) { to.unwatch(std::move(r), path); });
}

void zookeeper_store::sync(std::string_view path, done done)
{
    connection_->submit(make_request(std::move(done)),
                        [&](wire& to, std::unique_ptr<request> r) { to.sync(std::move(r), path); });
}

} // namespace zklock::bridge
