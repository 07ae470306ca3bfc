#include "queue/own_contenders.hpp"

namespace zklock::queue {

/// In the memory of the last one that was forgotten, if there is one.
void own_contenders::add(contender_id id, bool look_once, contender_kind kind)
{
    if (spare_) {
        spare_.key() = id;
        spare_.mapped().reset();
    } else {
        decltype(all_) fresh;
        fresh.try_emplace(id);
        spare_ = fresh.extract(fresh.begin());
    }
    contender& c = all_.insert(all_.end(), std::move(spare_))->second;
    c.id = id;
    c.look_once = look_once;
    c.kind = kind;
    wanted_.add(c);
    ++contending_;
    contending_alone_ += !is_shared(kind);
}

/// Calls the function with the index of the contenders in that phase, if it has one.
template <class F> void own_contenders::in_index(phase where, const F& f)
{
    switch (where) {
    case phase::wanted: return f(wanted_);
    case phase::creating: return f(creating_);
    case phase::unknown: return f(unknown_);
    case phase::queued: return f(queued_);
    case phase::held: return f(held_);
    case phase::downgrading: return f(downgrading_);
    case phase::inspecting:
    case phase::lingering:
    case phase::leaving: break;
    }
}

/// Takes the contender out of its phase's index and puts it into the next one's: mostly as the last there, for ids,
/// stamps and sequence numbers all grow.
void own_contenders::put(contender& c, phase to)
{
    const auto leaves = [](phase p) { return p == phase::leaving || p == phase::lingering; };
    const auto has_node = [=](phase p) { return p != phase::wanted && !leaves(p); };
    in_index(c.now, [&c](auto& index) { index.remove(c); });
    looking_once_ -= c.now == phase::queued && c.look_once;
    if (c.now == phase::lingering)
        lingering_ = nullptr;
    if (!c.abandoned) {
        with_node_ -= has_node(c.now);
        with_node_ += has_node(to);
        const bool ceases = leaves(to) && !leaves(c.now);
        contending_ -= ceases;
        contending_alone_ -= ceases && !is_shared(c.kind);
    }
    c.now = to;
    in_index(to, [&c](auto& index) { index.add(c); });
    looking_once_ += to == phase::queued && c.look_once;
    if (to == phase::lingering)
        lingering_ = &c;
}

void own_contenders::abandon(contender& c)
{
    if (std::exchange(c.abandoned, true))
        return;
    --contending_;
    contending_alone_ -= !is_shared(c.kind);
    --with_node_;
}

void own_contenders::create_again(contender& c, std::uint64_t stamp)
{
    creating_.remove(c);
    c.create_stamp = stamp;
    creating_.add(c);
}

void own_contenders::read_on(contender& c)
{
    c.kind = contender_kind::reader;
    if (!c.abandoned)
        --contending_alone_;
}

void own_contenders::forget(contender& c)
{
    if (c.now != phase::leaving)
        put(c, phase::leaving);
    if (recent_ == &c)
        recent_ = nullptr;
    spare_ = all_.extract(c.id);
}

const contender* own_contenders::find(contender_id id) const
{
    if (recent_ != nullptr && recent_->id == id)
        return recent_;
    const auto found = all_.find(id);
    if (found == all_.end())
        return nullptr;
    return recent_ = &found->second;
}

const contender& own_contenders::at(contender_id id) const
{
    const contender* const found = find(id);
    return found != nullptr ? *found : all_.at(id); // which throws
}

contender* own_contenders::find_in(phase where, contender_id id)
{
    contender* const found = find(id);
    return found != nullptr && found->now == where ? found : nullptr;
}

bool own_contenders::holds(contender_id id) const
{
    const contender* const found = find(id);
    const phase now = found == nullptr ? phase::leaving : found->now;
    return now == phase::held || (now == phase::downgrading && !found->abandoned);
}

std::vector<contender_id> own_contenders::holders() const
{
    std::vector<contender_id> ids;
    ids.reserve(held_.size());
    for (const contender& c : held_)
        ids.push_back(c.id);
    return ids;
}

std::vector<contender_id> own_contenders::looking_without_node() const
{
    std::vector<contender_id> found;
    for (const contender& c : wanted_)
        if (c.look_once)
            found.push_back(c.id);
    return found;
}

bool own_contenders::stands_on(contender_id id, std::string_view prefix) const
{
    const contender* const found = find(id);
    if (found == nullptr)
        return false;
    const phase now = found->now;
    const bool placed = now != phase::wanted && now != phase::creating && now != phase::unknown;
    return placed && node_of(*found).starts_with(prefix);
}

} // namespace zklock::queue
