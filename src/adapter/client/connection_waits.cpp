#include "adapter/client/connection_waits.hpp"

#include "recipes/session/error_mapping.hpp"
#include "zklock/errc.hpp"

#include <utility>

namespace zklock::detail {

connection_waits::connection_waits(runtime::client_store& store, store::scheduler& scheduler, recipes::session& session,
                                   bool look_first)
    : store_(store), scheduler_(scheduler), session_(session), root_seen_(!look_first)
{
}

connection_waits::~connection_waits()
{
    for (const auto& [id, w] : waits_)
        scheduler_.cancel(w.timer);
}

auto connection_waits::add(std::optional<store::scheduler::time_point> deadline, done d) -> id
{
    const auto id = ++last_id_;
    auto& added = waits_[id];
    added.d = std::move(d);
    look();
    if (const auto still = waits_.find(id); deadline && still != waits_.end()) {
        auto end = [this, id] {
            auto expired = waits_.extract(id);
            if (expired)
                expired.mapped().d(
                    root_error_ ? root_error_
                                : make_error_code(store_.is_insecure() ? errc::tls_failed : errc::not_connected));
        };
        if (*deadline <= scheduler_.now())
            end();
        else
            still->second.timer = scheduler_.call_at(*deadline, end);
    }
    return id;
}

void connection_waits::remove(id gone)
{
    if (auto removed = waits_.extract(gone))
        scheduler_.cancel(removed.mapped().timer);
}

void connection_waits::state_changed()
{
    root_error_ = {};
    if (session_.state() == connection_state::connected && !root_seen_)
        ask_for_root(); // also for later waits that have no time for the answer
    look();
}

void connection_waits::end_all(error_code ec)
{
    for (auto ended = std::exchange(waits_, {}); auto& [id, w] : ended) {
        scheduler_.cancel(w.timer);
        w.d(ec);
    }
}

void connection_waits::look()
{
    if (waits_.empty())
        return;
    switch (session_.state()) {
    case connection_state::connected:
        if (session_.lease().impossible())
            end_all(make_error_code(errc::invalid_option)); // as all acquires end
        else if (root_seen_)
            end_all({});
        else
            ask_for_root();
        break;
    case connection_state::failed: end_all(make_error_code(errc::authentication_failed)); break;
    case connection_state::closed: end_all(make_error_code(errc::closed)); break;
    case connection_state::connecting:
    case connection_state::suspended: break;
    }
}

void connection_waits::ask_for_root()
{
    if (asking_)
        return;
    store_.get("/", false, [this](const store::get_reply& reply) {
        asking_ = false;
        root_error_ = {};
        switch (reply.result) {
        case store::outcome::ok:
        case store::outcome::no_auth: // it is there, and we may not read it
            root_seen_ = true;
            end_all({});
            return;
        case store::outcome::unknown: return; // asked again on the next connection
        case store::outcome::no_node:
            root_error_ = make_error_code(errc::no_such_chroot);
            if (!std::exchange(chroot_missed_, true))
                session_.log(log_level::error, "there is no node ", session_.options.chroot,
                             ", which is to be the chroot: nothing can be done before it is created");
            break;
        default: root_error_ = make_error_code(recipes::error_of(reply.result)); break;
        }
        end_all(root_error_);
    });
    asking_ = true;
}

} // namespace zklock::detail
