#include "counters/lock_counters.hpp"

#include <boost/system/errc.hpp>

namespace zklock::counters {

lock_metrics lock_counters::read() const
{
    lock_metrics m;
    m.name = name;
    m.acquired = acquired.read();
    m.timed_out = timed_out.read();
    m.not_connected = not_connected.read();
    m.cancelled = cancelled.read();
    m.busy = busy.read();
    m.failed = failed.read();
    m.released = released.read();
    for (std::size_t i = 0; i < lost.size(); ++i)
        m.lost_by[i] = lost[i].read();
    m.waiting = waiting.read();
    m.held = held.read();
    m.waits = waits.read();
    m.holds = holds.read();
    return m;
}

lock_counters& by_name::of(std::string_view name)
{
    if (name.empty())
        return unnamed_;
    const std::lock_guard lock(mutex_);
    if (name != other_locks) {
        for (const auto& known : named_)
            if (known->name == name)
                return *known;
        if (named_.size() < most_metrics_names)
            return *named_.emplace_back(std::make_unique<lock_counters>(std::string(name)));
    }
    has_others_ = true;
    return others_;
}

std::vector<lock_metrics> by_name::read() const
{
    std::vector<lock_metrics> all{unnamed_.read()};
    const std::lock_guard lock(mutex_);
    for (const auto& one : named_)
        all.push_back(one->read());
    if (has_others_)
        all.push_back(others_.read());
    return all;
}

void counted_wait::ended(const error_code& how) noexcept
{
    if (!in_)
        return;
    if (how == errc::timed_out)
        end(in_->timed_out);
    else if (how == condition::not_in_time)
        end(in_->not_connected);
    else if (how == errc::busy)
        end(in_->busy);
    else if (how == boost::system::errc::operation_canceled)
        end(in_->cancelled);
    else
        end(in_->failed);
}

} // namespace zklock::counters
