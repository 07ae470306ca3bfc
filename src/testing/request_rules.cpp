#include "testing/request_rules.hpp"

#include <algorithm>
#include <utility>

namespace zklock::testing {

namespace {

using kind = ensemble::request;

kind kind_of(const request& r)
{
    switch (r.what) {
    case operation::write:
        switch (r.write.what) {
        case transaction::kind::create: return kind::create;
        case transaction::kind::remove: return kind::remove;
        case transaction::kind::batch: return kind::batch;
        default: return kind::set;
        }
    case operation::sync: return kind::sync;
    default: return kind::read;
    }
}

} // namespace

bool request_rules::pattern::matches(const request& r) const
{
    if (r.what == operation::ping || (what != kind::any && what != kind_of(r)))
        return false;
    if (!r.writes(transaction::kind::batch))
        return r.node().starts_with(prefix);
    return std::ranges::any_of(r.write.parts, [&](const transaction& part) { return part.path.starts_with(prefix); });
}

void request_rules::next(kind what, std::string path_prefix, fate becomes, unsigned times)
{
    const std::scoped_lock lock(mutex_);
    if (times != 0)
        dooms_.push_back({{what, std::move(path_prefix)}, becomes, times});
}

void request_rules::delay(kind what, std::string path_prefix, std::chrono::nanoseconds by)
{
    const std::scoped_lock lock(mutex_);
    delays_.push_back({{what, std::move(path_prefix)}, by});
}

void request_rules::clear()
{
    const std::scoped_lock lock(mutex_);
    dooms_.clear();
    delays_.clear();
}

std::size_t request_rules::count(kind what) const
{
    const std::scoped_lock lock(mutex_);
    std::size_t all = 0;
    for (const auto& [each, count] : counted_)
        if (what == kind::any || what == each)
            all += count;
    return all;
}

auto request_rules::take(const request& r) -> std::optional<fate>
{
    const std::scoped_lock lock(mutex_);
    if (r.what != operation::ping)
        ++counted_[kind_of(r)];
    const auto found = std::ranges::find_if(dooms_, [&](const doom& each) { return each.whose.matches(r); });
    if (found == dooms_.end())
        return std::nullopt;
    const auto becomes = found->becomes;
    if (--found->times == 0)
        dooms_.erase(found);
    return becomes;
}

std::chrono::nanoseconds request_rules::lateness(const request& r) const
{
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find_if(delays_, [&](const delayed& each) { return each.whose.matches(r); });
    return found == delays_.end() ? std::chrono::nanoseconds{} : found->by;
}

} // namespace zklock::testing
