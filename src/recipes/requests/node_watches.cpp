#include "recipes/requests/node_watches.hpp"

#include "recipes/requests/node_operations.hpp"

#include <utility>

namespace zklock::recipes {

/// Takes the watches of a path back, unless somebody wants them when it comes up.
class node_watches::watch_return final : public request_for<> {
public:
    /// `may_linger`: the watch tells of a creation. Others who ask for one may be told that there is no such node, and
    /// have none then; this one stays, and is to be taken back all the same.
    watch_return(node_watches& all, std::string path, bool may_linger)
        : request_for<>(all.session_, if_lost::asked_again, [](error_code) {}), all_(all), path_(std::move(path)),
          epoch_(all.epoch_), ask_again_(may_linger)
    {
    }

private:
    void send() override
    {
        const bool wanted = session_.listeners().wanted(path_);
        if (epoch_ != all_.epoch_)
            withdraw(); // it is gone
        else if (!wanted)
            session_.store.unwatch(path_, answered([this](const store::reply&) { withdraw(); }));
        else if (std::exchange(ask_again_, false))
            session_.store.exists(path_, false, answered([this](const store::stat_reply&) { send(); }));
        else
            leave_it();
    }
    /// A recipe that listens there now takes it back, even if it never comes to ask for a watch itself.
    void leave_it()
    {
        session_.listeners().hand_over_watch(path_);
        withdraw();
    }
    [[nodiscard]] bool reads() const noexcept override { return false; }

    node_watches& all_;
    const std::string path_;
    const std::uint64_t epoch_;
    bool ask_again_; ///< behind the answers to what others have asked for
};

node_watches::node_watches(session& s) : session_(s)
{
    session_.add(*this);
}

node_watches::~node_watches()
{
    for (const auto& [path, watched] : paths_)
        session_.listeners().stop_listening(path, *this);
    session_.remove(*this);
}

std::shared_ptr<node_wait> node_watches::wait(const std::string& path, node_wait::goal what,
                                              std::optional<node_stat> seen, node_wait::done_function done)
{
    auto fresh = std::make_shared<node_wait>(session_, what, seen, std::move(done));
    if (const auto why = why_not_sent(session_, path, fault_to_use(path), 0)) {
        fresh->end(make_error_code(*why));
        return fresh;
    }
    watched_path& where = at(path);
    where.add(fresh);
    where.leave_if_idle();
    return fresh;
}

watched_path& node_watches::at(const std::string& path)
{
    if (const auto found = paths_.find(path); found != paths_.end())
        return *found->second;
    auto fresh = std::make_unique<watched_path>(session_, *this, path);
    watched_path& made = *fresh;
    paths_.emplace(made.path(), std::move(fresh));
    session_.listeners().listen(made.path(), *this);
    return made;
}

void node_watches::forget(watched_path& idle)
{
    const auto gone = paths_.extract(idle.path());
    if (!session_.listeners().stop_listening(idle.path(), *this, idle.armed()) || !session_.connected())
        return;
    const bool wanted = session_.listeners().wanted(idle.path());
    if (!wanted || idle.armed_for_creation())
        session_.requests().enter(std::make_shared<watch_return>(*this, idle.path(), idle.armed_for_creation()));
}

/// A path may go in its own step.
template <class Step> void node_watches::for_each_path(Step step)
{
    for (auto at = paths_.begin(); at != paths_.end();)
        step(*(at++)->second);
}

void node_watches::epoch_began()
{
    for_each_path([](watched_path& p) { p.epoch_began(); });
}

void node_watches::epoch_ended()
{
    ++epoch_;
    for_each_path([](watched_path& p) { p.epoch_ended(); });
}

void node_watches::stop(errc why)
{
    for_each_path([why](watched_path& p) { p.end_all(why); });
}

void node_watches::on_own_event(store::event_kind what, std::string_view path)
{
    if (const auto found = paths_.find(path); found != paths_.end())
        found->second->on_event(what);
}

} // namespace zklock::recipes
