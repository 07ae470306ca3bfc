// What a test does at the servers, and sees there.
#include "testing/memory_ensemble.hpp"
#include "testing/memory_store.hpp"

#include <utility>

namespace zklock::testing {

znode_tree::effect memory_ensemble::change(transaction t)
{
    const std::scoped_lock lock(mutex_);
    return apply(std::move(t));
}

std::optional<node_content> memory_ensemble::read(const std::string& path) const
{
    const std::scoped_lock lock(mutex_);
    const auto* const node = tree_.find(path);
    if (!node)
        return std::nullopt;
    node_content found;
    found.data = node->data;
    found.stat = znode_tree::stat(*node);
    return found;
}

std::vector<std::string> memory_ensemble::children(const std::string& path) const
{
    const std::scoped_lock lock(mutex_);
    return tree_.children(path);
}

std::vector<std::int64_t> memory_ensemble::sessions() const
{
    const std::scoped_lock lock(mutex_);
    std::vector<std::int64_t> ids;
    for (const auto& [id, s] : sessions_)
        if (s.timeout.count() != 0)
            ids.push_back(id);
    return ids;
}

std::int64_t memory_ensemble::foreign_session()
{
    const std::scoped_lock lock(mutex_);
    if (foreign_session_ == 0) {
        foreign_session_ = ++last_session_;
        sessions_[foreign_session_] = {};
    }
    return foreign_session_;
}

void memory_ensemble::expire(std::int64_t session)
{
    const std::scoped_lock lock(mutex_);
    if (sessions_.contains(session))
        drop_session(session);
}

void memory_ensemble::cut(std::int64_t session)
{
    const std::scoped_lock lock(mutex_);
    if (const auto at = link_of(session); at != links_.end())
        drop(at);
}

void memory_ensemble::part(std::int64_t session)
{
    const std::scoped_lock lock(mutex_);
    if (sessions_.contains(session))
        parted_.insert(session);
}

void memory_ensemble::mend(std::int64_t session)
{
    const std::scoped_lock lock(mutex_);
    if (parted_.erase(session) != 0)
        have_clients_connect();
    const auto at = link_of(session);
    if (at == links_.end())
        return;
    deliver(at->second);
    const auto number = at->first;
    for (auto waiting = std::exchange(at->second.waiting, {}); auto& each : waiting) {
        const auto still = links_.find(number);
        if (still == links_.end())
            return;
        serve(still, std::move(each));
    }
    woken_.notify_one();
}

void memory_ensemble::have_clients_connect()
{
    for (const auto& each : clients_)
        if (const auto present = each.lock())
            present->may_connect();
}

void memory_ensemble::stop()
{
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    while (!links_.empty())
        drop(links_.begin());
}

void memory_ensemble::start()
{
    const std::scoped_lock lock(mutex_);
    stopped_ = false;
    for (const auto& [id, s] : sessions_)
        heard(id);
    have_clients_connect();
    woken_.notify_one();
}

} // namespace zklock::testing
