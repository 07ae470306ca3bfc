#include "recipes/session.hpp"

#include "queue/node_name.hpp"
#include "queue/node_path.hpp"
#include "queue/owner_data.hpp"
#include "recipes/lock_path.hpp"

#include <algorithm>
#include <utility>

namespace zklock::recipes {
namespace {

constexpr std::size_t most_resting_paths = 4096;

bool valid(const mutex_options& options, const std::string& clients_identifier)
{
    constexpr std::chrono::hours longest_linger{24};
    const std::string& identifier = options.identifier.empty() ? clients_identifier : options.identifier;
    return queue::valid_owner_data(identifier, options.properties) &&
           options.linger.count() >= 0 && options.linger <= longest_linger && options.cohort >= 1 &&
           options.cohort <= grants_of_a_czxid;
}

} // namespace

session::session(store::store& store, store::scheduler& scheduler, const client_options& options,
                 std::function<std::string()> new_uuid)
    : core_(store, scheduler, options, std::move(new_uuid)), nodes_(core_), resting_(core_, most_resting_paths)
{
    store.attach(*this);
}

session::~session()
{
    core_.connected = false; // nothing is sent any more
}

void session::on_state(std::function<void(connection_state)> f)
{
    on_state_ = std::move(f);
}

void session::change(connection_state next)
{
    id_ = core_.session_id;
    if (state_ == next)
        return;
    if (on_state_)
        core_.tell([this, next] { on_state_(next); });
    state_ = next;
}

// --- operations ------------------------------------------------------------------------------------------------------

lock_path* session::in_use(const std::string& path) const
{
    const auto found = paths_.find(path);
    return found == paths_.end() ? nullptr : found->second.get();
}

std::optional<errc> session::objection(const std::string& path, const lock_path* known) const
{
    if (core_.over)
        return core_.over;
    if (!known && !queue::valid_lock_path(core_.options.chroot, path)) // one that is in use has been looked at
        return errc::invalid_path;
    if (core_.connected && core_.lease_impossible())
        return errc::invalid_option;
    return std::nullopt;
}

std::optional<errc> session::objection(const std::string& path, const mutex_options& options) const
{
    return objection(path, in_use(path), options);
}

std::optional<errc> session::objection(const std::string& path, const lock_path* known,
                                       const mutex_options& options) const
{
    const auto why = objection(path, known);
    return why || valid(options, core_.options.identifier) ? why : errc::invalid_option;
}

lock_path* session::path_for(const std::string& path, lock_path* known, const path_options& options)
{
    if (known && known->options() == options)
        return known;
    // One that is idle gives way, also while its container is being deleted: it is made again.
    if (known && !known->idle())
        return nullptr;
    auto fresh = std::make_unique<lock_path>(core_, path, options, [this, path] { path_rests(path); });
    if (known)
        fresh->inherit(*known);
    std::unique_ptr<lock_path>& entry = paths_[path]; // the new one hears of the watch that the old one leaves
    entry = std::move(fresh);
    return entry.get();
}

made_containers session::containers_above(const std::string& path) const
{
    const lock_path* const known = in_use(path);
    return known ? known->upper_containers() : made_containers();
}

void session::written_above(const std::string& path, std::size_t level, const store::node_stat& stat) noexcept
{
    if (lock_path* const known = in_use(path))
        known->written_above(level, stat);
}

/// What an idle path knows of its queue is worth a request to the next acquire: it is kept for a while.
void session::path_rests(const std::string& path)
{
    const auto found = paths_.find(path);
    if (found == paths_.end())
        return;
    found->second->wake(); // when it is idle the next time, it tells again
    if (found->second->finished())
        paths_.erase(found);
    else if (found->second->idle())
        resting_.add(*found->second);
}

std::shared_ptr<acquisition> session::acquire(acquire_request request)
{
    lock_path* const known = in_use(request.path);
    std::optional<errc> why = objection(request.path, known, *request.options);
    lock_path* path = nullptr;
    if (!why) {
        path = path_for(request.path, known, path_options(*request.options, request.kind));
        if (!path)
            why = errc::invalid_option;
    }
    if (path)
        return path->acquire(++last_contender_, std::move(request));
    return refuse(std::move(request), *why);
}

std::shared_ptr<acquisition> session::refuse(acquire_request request, errc why)
{
    const auto refused = std::make_shared<lock_contender>(core_, nullptr, ++last_contender_, std::move(request));
    refused->fail(why);
    return refused;
}

std::shared_ptr<user_request> session::contenders(const std::string& path, contender_list::done done, listed what,
                                                  std::size_t most)
{
    const auto gone = [this](const std::string& node) {
        core_.attempt([&] { on_node_event(store::event_kind::deleted, node); });
    };
    return begin(std::make_shared<contender_list>(core_, path, gone, std::move(done), what, most),
                 objection(path, in_use(path)));
}

std::shared_ptr<user_request> session::revoke(const std::string& path, const std::string& node, revocation::done done,
                                              listed what)
{
    std::optional<errc> why = objection(path, in_use(path));
    // The data of anything else below the path are its owner's.
    const bool of_the_lock = queue::valid_path(node) && queue::parent_of(node) == path &&
                             what.read(queue::name_of(node)).has_value();
    if (!why && !of_the_lock)
        why = errc::invalid_path;
    return begin(std::make_shared<revocation>(core_, node, std::move(done)), why);
}

std::shared_ptr<user_request> session::revoke_holders(const std::string& path, revocation::done done, listed what)
{
    return begin(std::make_shared<revocation>(core_, path, what, std::move(done)), objection(path, in_use(path)));
}

std::shared_ptr<user_request> session::begin(std::shared_ptr<user_request> asked, std::optional<errc> why)
{
    if (why)
        asked->fail(*why);
    else
        core_.requests.enter(asked);
    return asked;
}

// --- what the store tells --------------------------------------------------------------------------------------------

void session::on_connected(const store::connect_reply& answer)
{
    if (core_.over)
        return; // it was on its way when the session was closed
    core_.on_connected(answer);
    if (core_.lease_impossible())
        refuse_all(answer.session_timeout);
    change(connection_state::connected);
}

void session::refuse_all(std::chrono::milliseconds granted)
{
    if (core_.options.log)
        core_.tell([this, granted] {
            core_.options.log(log_level::error,
                              "a session of " + std::to_string(granted.count()) +
                                  " ms, as the servers grant it, leaves no time for a lease with this server_tick, "
                                  "lease_margin, clock_drift and loss_notice: every acquire is refused");
        });
    for (session_member* member : core_.members())
        member->refuse_all(errc::invalid_option);
}

void session::on_disconnected()
{
    if (core_.over)
        return;
    core_.attempt([this] { core_.on_disconnected(); });
    change(connection_state::suspended);
}

void session::on_expired()
{
    if (core_.over)
        return;
    core_.attempt([this] { core_.on_expired(); });
    change(connection_state::connecting);
}

void session::on_authentication_failed()
{
    core_.attempt([this] { core_.stop(errc::authentication_failed); });
    change(connection_state::failed);
}

void session::on_node_event(store::event_kind kind, std::string_view node)
{
    core_.on_node_event(kind, node);
}

// --- end -------------------------------------------------------------------------------------------------------------

void session::close(std::function<void()> closed)
{
    if (gone_)
        return core_.tell(std::move(closed));
    closed_.push_back(std::move(closed));
    if (std::exchange(closing_, true))
        return;
    const auto close_store = [this] { core_.store.close([this] { tell_closed(); }); };
    try {
        core_.stop(errc::closed);
        change(connection_state::closed);
    } catch (const std::bad_alloc&) { // the rest is done before it is told to be closed
        state_ = connection_state::closed;
    } catch (...) { // from those who are told: it closes all the same
        close_store();
        throw;
    }
    close_store();
}

/// Last of all: also after the answers to what was called while this was on its way.
void session::tell_closed()
{
    const auto last = [this] {
        gone_ = true;
        for (auto& f : std::exchange(closed_, {}))
            f();
    };
    try {
        core_.tell([this, last] {
            if (core_.has_news())
                return tell_closed();
            last();
        });
    } catch (const std::bad_alloc&) { // what users were to be told is dropped with the session
        last();
    }
}

} // namespace zklock::recipes
