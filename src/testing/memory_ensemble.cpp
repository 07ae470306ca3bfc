#include "testing/memory_ensemble.hpp"
#include "testing/memory_store.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace zklock::testing {

using store::outcome;

namespace {

/// The ensembles of this process, by their names.
struct registry {
    std::mutex mutex;                                         // guards all
    std::map<std::string, memory_ensemble*, std::less<>> all; ///< each takes itself out before it ends
};

registry& of_process()
{
    static registry one;
    return one;
}

std::int64_t wall_clock_ms()
{
    using namespace std::chrono;
    static const auto start = lease_clock::now();
    static const auto began = system_clock::now();
    return duration_cast<milliseconds>(began.time_since_epoch() + (lease_clock::now() - start)).count();
}

bool is_open(const access_list& list)
{
    return std::ranges::any_of(list.entries(), [](const access_entry& each) { return each.scheme == "auth"; });
}

/// Without what only a session that has shown credentials could ask for.
void open_access(transaction& t)
{
    if (t.access && is_open(*t.access))
        t.access = nullptr;
    for (auto& part : t.parts)
        open_access(part);
}

} // namespace

memory_ensemble::memory_ensemble(std::string name, bool exists_needs_read)
    : name_(std::move(name)), exists_needs_read_(exists_needs_read)
{
}

memory_ensemble::~memory_ensemble()
{
    end();
}

std::shared_ptr<memory_ensemble> memory_ensemble::find(std::string_view name)
{
    auto& [mutex, all] = of_process();
    const std::scoped_lock lock(mutex);
    const auto found = all.find(name);
    return found == all.end() ? nullptr : found->second->weak_from_this().lock();
}

std::size_t memory_ensemble::count()
{
    auto& [mutex, all] = of_process();
    const std::scoped_lock lock(mutex);
    return all.size();
}

void memory_ensemble::begin()
{
    {
        auto& [mutex, all] = of_process();
        const std::scoped_lock lock(mutex);
        if (!all.try_emplace(name_, this).second)
            throw std::invalid_argument("there is an ensemble " + name_);
    }
    thread_ = std::thread([this] { run(); });
}

void memory_ensemble::end()
{
    {
        auto& [mutex, all] = of_process();
        const std::scoped_lock lock(mutex);
        if (const auto found = all.find(name_); found != all.end() && found->second == this)
            all.erase(found);
    }
    stop();
    {
        const std::scoped_lock lock(mutex_);
        ended_ = true;
    }
    woken_.notify_one();
    if (thread_.joinable())
        thread_.join();
}

// ---- stores

auto memory_ensemble::connect(const std::shared_ptr<memory_store>& client, std::int64_t session,
                              std::chrono::milliseconds timeout) -> connected
{
    const std::scoped_lock lock(mutex_);
    ++activity_;
    std::erase_if(clients_, [](const auto& each) { return each.expired(); });
    if (std::ranges::none_of(clients_, [&](const auto& each) { return each.lock() == client; }))
        clients_.push_back(client);
    if (stopped_ || ended_ || parted_.contains(session))
        return {};
    if (session != 0) {
        const auto known = sessions_.find(session);
        if (known == sessions_.end())
            return {0, true, 0, {}};
        if (const auto before = link_of(session); before != links_.end())
            drop(before); // a session has one connection
    } else {
        session = ++last_session_;
        sessions_[session] = {timeout, {}};
    }
    const auto connection = ++last_connection_;
    links_.try_emplace(connection, link{connection, client, session});
    heard(session);
    woken_.notify_one();
    return {connection, false, session, sessions_[session].timeout};
}

void memory_ensemble::hang_up(std::uint64_t connection)
{
    const std::scoped_lock lock(mutex_);
    ++activity_;
    links_.erase(connection);
}

void memory_ensemble::end_session(std::uint64_t connection)
{
    const std::scoped_lock lock(mutex_);
    ++activity_;
    const auto at = links_.find(connection);
    if (at == links_.end())
        return;
    const auto session = at->second.session;
    links_.erase(at);
    if (!parted_.contains(session))
        close_session(session);
}

std::string memory_ensemble::why_unreachable(std::int64_t session) const
{
    const std::scoped_lock lock(mutex_);
    if (ended_)
        return "the ensemble in memory is gone";
    if (stopped_)
        return "the ensemble in memory is stopped";
    return parted_.contains(session) ? "the client is parted from the ensemble in memory" : "";
}

void memory_ensemble::send(std::uint64_t connection, request r)
{
    const std::scoped_lock lock(mutex_);
    ++activity_;
    const auto at = links_.find(connection);
    if (at == links_.end())
        return; // that the connection has ended is on its way
    if (parted_.contains(at->second.session))
        at->second.waiting.push_back(std::move(r));
    else
        serve(at, std::move(r));
}

// ---- requests

void memory_ensemble::serve(links::iterator at, request r)
{
    heard(at->second.session);
    using fate = request_rules::fate;
    const auto becomes = rules_.take(r);
    if (becomes == fate::lose_before)
        return drop(at);
    answer a;
    if (becomes == fate::refuse_access)
        a.result = outcome::no_auth;
    else if (becomes == fate::refuse_server_error)
        a.result = outcome::server_error;
    else
        a = execute(at->second, r);
    if (becomes == fate::lose_after)
        return drop(at);
    if (becomes == fate::no_answer)
        at->second.mute = true;
    a.number = r.number;
    answer_later(at->second, std::move(a), lease_clock::now() + rules_.lateness(r));
}

answer memory_ensemble::execute(link& from, const request& r)
{
    if (r.what != operation::write)
        return from.watched.read(tree_, r, exists_needs_read_);
    auto t = r.write;
    open_access(t);
    t.session = from.session;
    return answer_to(apply(std::move(t)));
}

znode_tree::effect memory_ensemble::apply(transaction t)
{
    t.zxid = ++zxid_;
    t.time_ms = wall_clock_ms();
    auto done = tree_.apply(t);
    fire(done);
    return done;
}

void memory_ensemble::fire(const znode_tree::effect& done)
{
    for (const auto& [what, path, hidden] : done.events)
        for (auto& [number, to] : links_) {
            if (!to.watched.use_up(what, path) || hidden)
                continue;
            answer a;
            a.event = what;
            a.path = path;
            answer_later(to, std::move(a), lease_clock::now());
        }
}

void memory_ensemble::answer_later(link& to, answer a, time_point due)
{
    if (!to.answers.empty())
        due = std::max(due, to.answers.back().first);
    to.answers.emplace_back(due, std::move(a));
    deliver(to);
    if (!to.answers.empty())
        woken_.notify_one();
}

void memory_ensemble::deliver(link& to)
{
    const auto now = lease_clock::now();
    if (to.mute || parted_.contains(to.session))
        return;
    for (; !to.answers.empty() && to.answers.front().first <= now; to.answers.pop_front()) {
        ++activity_;
        to.client->receive(to.number, std::move(to.answers.front().second));
    }
}

void memory_ensemble::drop(links::iterator at)
{
    ++activity_;
    const auto dropped = links_.extract(at);
    dropped.mapped().client->lose(dropped.key());
}

// ---- sessions and time

auto memory_ensemble::link_of(std::int64_t session) -> links::iterator
{
    return std::ranges::find_if(links_, [&](const auto& each) { return each.second.session == session; });
}

void memory_ensemble::heard(std::int64_t session)
{
    auto& s = sessions_[session];
    s.over = lease_clock::now() + s.timeout;
}

void memory_ensemble::close_session(std::int64_t session)
{
    sessions_.erase(session);
    static_cast<void>(apply({.what = transaction::kind::close_session, .session = session}));
}

/// The client notices nothing of it if it is parted.
void memory_ensemble::drop_session(std::int64_t session)
{
    const auto at = link_of(session);
    close_session(session);
    if (at == links_.end())
        return;
    if (parted_.contains(session))
        links_.erase(at);
    else
        drop(at);
}

void memory_ensemble::do_what_is_due()
{
    const auto now = lease_clock::now();
    if (!stopped_) {
        std::vector<std::int64_t> over;
        for (const auto& [id, s] : sessions_)
            if (s.timeout.count() != 0 && s.over <= now)
                over.push_back(id);
        for (const auto id : over)
            drop_session(id);
    }
    for (auto& [number, to] : links_)
        deliver(to);
}

auto memory_ensemble::first_due() const -> time_point
{
    auto first = time_point::max();
    if (!stopped_)
        for (const auto& [id, s] : sessions_)
            if (s.timeout.count() != 0)
                first = std::min(first, s.over);
    for (const auto& [number, to] : links_)
        if (!to.answers.empty() && !to.mute && !parted_.contains(to.session))
            first = std::min(first, to.answers.front().first);
    return first;
}

void memory_ensemble::run()
{
    std::unique_lock lock(mutex_);
    while (!ended_) {
        do_what_is_due();
        const auto due = first_due();
        if (due == time_point::max())
            woken_.wait(lock);
        else if (const auto left = due - lease_clock::now(); left.count() > 0)
            woken_.wait_for(lock, std::min<lease_clock::duration>(left, std::chrono::seconds(1)));
    }
}

void memory_ensemble::look_again()
{
    const std::scoped_lock lock(mutex_);
    do_what_is_due();
    woken_.notify_one();
}

auto memory_ensemble::next_due() const -> time_point
{
    const std::scoped_lock lock(mutex_);
    return first_due();
}

std::uint64_t memory_ensemble::activity() const
{
    const std::scoped_lock lock(mutex_);
    return activity_;
}

std::vector<std::shared_ptr<memory_store>> memory_ensemble::clients() const
{
    const std::scoped_lock lock(mutex_);
    std::vector<std::shared_ptr<memory_store>> all;
    for (const auto& each : clients_)
        if (auto present = each.lock())
            all.push_back(std::move(present));
    return all;
}

} // namespace zklock::testing
