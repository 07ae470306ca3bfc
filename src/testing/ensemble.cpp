#include "zklock/testing/ensemble.hpp"
#include "runtime/stores_in_memory.hpp"
#include "testing/memory_ensemble.hpp"
#include "testing/memory_store.hpp"
#include "testing/passage.hpp"
#include "zklock/client_options.hpp"
#include "zklock/errc.hpp"

#include <boost/system/system_error.hpp>

#include <mutex>
#include <stdexcept>
#include <utility>

namespace zklock::testing {

using store::outcome;

namespace {

/// The store of a client whose options name an ensemble.
std::shared_ptr<runtime::client_store> store_of(runtime::store_surroundings around)
{
    auto ensemble = memory_ensemble::find(around.options.servers);
    return ensemble ? std::make_shared<memory_store>(std::move(ensemble), std::move(around)) : nullptr;
}

} // namespace

ensemble::ensemble(std::string name)
{
    client_options options;
    options.servers = name;
    if (const auto fault = find_fault(options))
        throw std::invalid_argument(to_string(*fault));
    if (name.find('/') != name.npos)
        throw std::invalid_argument("the name of an ensemble has no chroot");
    servers_ = std::make_shared<memory_ensemble>(std::move(name));
    servers_->begin();
    runtime::ask_for_stores(&store_of);
}

ensemble::~ensemble()
{
    passing_.reset();
    servers_->end();
}

const std::string& ensemble::servers() const noexcept
{
    return servers_->name();
}

// ---- what is there

std::vector<std::string> ensemble::children(const std::string& path) const
{
    return servers_->children(path);
}
std::optional<node_content> ensemble::get(const std::string& path) const
{
    return servers_->read(path);
}

std::string ensemble::create(const std::string& path, const std::string& data, node_kind kind)
{
    if (find_path_fault(store::is_sequential(kind) ? path + '0' : path))
        throw boost::system::system_error(make_error_code(errc::invalid_path), path);
    for (auto slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1))
        servers_->change({.what = transaction::kind::create, .path = path.substr(0, slash)}); // or it is there
    transaction t{.what = transaction::kind::create, .path = path, .data = data, .node = kind};
    if (store::is_ephemeral(kind))
        t.session = servers_->foreign_session();
    const auto done = servers_->change(std::move(t));
    if (done.result == outcome::node_exists)
        throw boost::system::system_error(make_error_code(errc::node_exists), path);
    if (done.result != outcome::ok) // its parent is an ephemeral node
        throw boost::system::system_error(make_error_code(errc::invalid_path), path);
    return done.path;
}

bool ensemble::set(const std::string& path, const std::string& data)
{
    return servers_->change({.what = transaction::kind::set_data, .path = path, .data = data}).result == outcome::ok;
}

bool ensemble::remove(const std::string& path)
{
    return servers_->change({.what = transaction::kind::remove, .path = path}).result == outcome::ok;
}

std::string ensemble::hold(const std::string& lock_path, const std::string& identifier)
{
    return create(lock_path + "/lock-", identifier, node_kind::ephemeral_sequential);
}

std::vector<std::int64_t> ensemble::sessions() const
{
    return servers_->sessions();
}

// ---- what befalls a client

void ensemble::expire(std::int64_t session)
{
    servers_->expire(session);
}
void ensemble::cut(std::int64_t session)
{
    servers_->cut(session);
}
void ensemble::part(std::int64_t session)
{
    servers_->part(session);
}
void ensemble::mend(std::int64_t session)
{
    servers_->mend(session);
}
void ensemble::stop()
{
    servers_->stop();
}
void ensemble::start()
{
    servers_->start();
}

// ---- requests

void ensemble::next(request what, std::string path_prefix, fate becomes, unsigned times)
{
    servers_->rules().next(what, std::move(path_prefix), becomes, times);
}
void ensemble::delay(request what, std::string path_prefix, std::chrono::nanoseconds by)
{
    servers_->rules().delay(what, std::move(path_prefix), by);
}
void ensemble::clear()
{
    servers_->rules().clear();
}
std::size_t ensemble::requests(request what) const
{
    return servers_->rules().count(what);
}

// ---- time

void ensemble::expect_alone() const
{
    if (runtime::real_clients() != 0)
        throw std::logic_error("time is moved, and there is a client of real servers, whose lease it would end");
    if (memory_ensemble::count() != 1)
        throw std::logic_error("time is moved, and there is another ensemble");
    if (passing_ && !passing_->over())
        throw std::logic_error("time is moved, and passes already");
}

void ensemble::begin_pass(std::chrono::nanoseconds time, asio::any_completion_handler<void(error_code)> handler,
                          asio::any_io_executor executor)
{
    const std::scoped_lock lock(one_passes_);
    expect_alone();
    passing_.reset();
    passing_ = std::make_unique<passage>(servers_, time, std::move(handler), std::move(executor));
}

void ensemble::stall(std::chrono::nanoseconds time)
{
    if (time.count() < 0)
        throw std::logic_error("time is not set back");
    const std::scoped_lock lock(one_passes_);
    expect_alone();
    runtime::move_lease_clock(time);
    servers_->look_again();
    for (const auto& each : servers_->clients())
        each->post([](memory_store& s) { s.look_again(); });
}

} // namespace zklock::testing
