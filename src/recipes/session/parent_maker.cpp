#include "recipes/session/parent_maker.hpp"

#include "queue/node_path.hpp"
#include "recipes/session/session.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace zklock::recipes {

auto lost_containers::find(std::string_view path) noexcept -> std::list<entry>::iterator
{
    return std::ranges::find(all_, path, &entry::path);
}

void lost_containers::lost(const std::string& path)
{
    forget(path);
    all_.push_back({path, 0});
    if (all_.size() > most)
        all_.pop_front();
}

bool lost_containers::found(std::string_view path, std::int64_t czxid) const noexcept
{
    return std::ranges::any_of(all_, [&](const entry& e) { return e.path == path && e.czxid == czxid; });
}

void lost_containers::forget(std::string_view path) noexcept
{
    if (const auto known = find(path); known != all_.end())
        all_.erase(known);
}

void lost_containers::epoch_began()
{
    for (const entry& each : all_) {
        if (each.czxid != 0)
            continue;
        session_.catch_up().begin();
        session_.store.exists(each.path, false, [this, path = each.path](const store::stat_reply& answer) {
            if (answer.result == store::outcome::unknown)
                session_.contact_lost(); // it is done in the next epoch
            const auto known = find(path);
            if (known == all_.end() || known->czxid != 0)
                return;
            if (answer.result == store::outcome::ok)
                known->czxid = answer.stat.czxid;
            else if ((answer.result == store::outcome::no_node && session_.catch_up().done()) ||
                     answer.result == store::outcome::no_auth)
                all_.erase(known);
        });
    }
}

bool made_container::may_go(const store::node_stat& found, bool found_first) const noexcept
{
    if (found.num_children != 0)
        return false;
    if (czxid == 0) {
        const bool unused = found.cversion == 0 && found.version == 0 && found.data_length == 0;
        return unused && found_first;
    }
    return found.czxid == czxid && found.mzxid == mzxid;
}

void made_containers::add(const made_containers& others)
{
    for (const auto& [level, other] : others.made_) {
        made_container& known = made_.try_emplace(level, other).first->second;
        if (std::tie(known.czxid, known.mzxid) < std::tie(other.czxid, other.mzxid))
            known = other;
    }
}

made_containers::by_level::iterator made_containers::find(const made_container& made) noexcept
{
    const auto known = made_.find(made.level);
    return known != made_.end() && known->second.czxid == made.czxid ? known : made_.end();
}

void made_containers::remove(const made_container& made) noexcept
{
    if (const auto known = find(made); known != made_.end())
        made_.erase(known);
}

void made_containers::remove_from(const made_container& made) noexcept
{
    made_.erase(find(made), made_.end());
}

void made_containers::written(std::size_t level, const store::node_stat& stat) noexcept
{
    if (const auto known = find({level, stat.czxid}); known != made_.end())
        known->second.mzxid = stat.mzxid;
}

made_containers made_containers::upper() const
{
    made_containers all = *this;
    all.made_.erase(0);
    return all;
}

std::string_view path_above(std::string_view path, std::size_t level) noexcept
{
    for (std::size_t up = level; up != 0; --up)
        path = queue::parent_of(path);
    return path;
}

void parent_maker::make(std::string path, parent_kind kind, const std::optional<access_list>& access,
                        std::function<void(store::outcome)> done)
{
    kind_ = kind == parent_kind::container ? store::node_kind::container : store::node_kind::persistent;
    access_ = access;
    done_ = std::move(done);
    missing_.push_back(std::move(path));
    create_next();
}

void parent_maker::create_next()
{
    session_.store.create(
        missing_.back(), {}, kind_, access_ ? &*access_ : nullptr, [this](const store::create_reply& answer) {
            const bool lost = answer.result == store::outcome::unknown && !answer.undone;
            if ((answer.result == store::outcome::ok || lost) && kind_ == store::node_kind::container)
                made.add({missing_.size() - 1, answer.stat.czxid, answer.stat.czxid});
            if (lost && kind_ == store::node_kind::container)
                session_.lost_containers().lost(missing_.back());
            else if (answer.result == store::outcome::ok)
                session_.lost_containers().forget(missing_.back()); // what was sent before has not made this one
            switch (answer.result) {
            case store::outcome::ok:
            case store::outcome::node_exists:
                missing_.pop_back();
                if (missing_.empty())
                    return finish(store::outcome::ok);
                return create_next();
            case store::outcome::no_node: {
                std::string parent(queue::parent_of(missing_.back()));
                if (parent.empty())
                    return finish(store::outcome::no_node);
                missing_.push_back(std::move(parent));
                return create_next();
            }
            case store::outcome::unimplemented:
                if (std::exchange(kind_, store::node_kind::persistent) == store::node_kind::container)
                    return create_next(); // servers before 3.5
                [[fallthrough]];
            default: return finish(answer.result);
            }
        });
}

void parent_maker::finish(store::outcome result)
{
    missing_.clear();
    std::exchange(done_, nullptr)(result);
}

} // namespace zklock::recipes
