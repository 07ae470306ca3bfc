#include "recipes/acquisition/acquire_events.hpp"

#include "queue/node_name.hpp"
#include "recipes/session/session.hpp"
#include "store/tell_listener.hpp"

#include <cstddef>
#include <utility>

namespace zklock::recipes {
namespace {

/// How long the part of a node's path can be that stands behind the lock's path: a slash, what begins Curator's names,
/// a uuid and a dash, the longest mark, and a number with its sign. A semaphore has a folder there, but no such mark.
constexpr std::size_t longest_name = 1 + 3 + 37 + queue::longest_mark + 11;

} // namespace

acquire_events::acquire_events(lock_listener listener, session& s, std::uint64_t id, const std::string& path)
    : session_(s), listener_(std::move(listener))
{
    event_.acquire = id;
    event_.path = path;
    event_.node.reserve(path.size() + longest_name);
    event_.began = session_.scheduler.now();
}

void acquire_events::queued(std::string_view node, std::int32_t sequence) noexcept
{
    if (event_.what != lock_event::kind::queued || event_.node == node)
        return;
    tell_place();
    event_.node = node;
    event_.sequence = sequence;
    place_untold_ = true;
}

void acquire_events::waits_behind(std::shared_ptr<const contender> whom) noexcept
{
    if (!place_untold_)
        return;
    event_.behind = std::move(whom);
    tell_place();
}

void acquire_events::acquired(std::string_view node, std::int64_t fencing_token) noexcept
{
    tell_place();
    event_.node = node;
    event_.fencing_token = fencing_token;
    tell(lock_event::kind::acquired);
}

void acquire_events::lost(const lock_loss& how) noexcept
{
    if (event_.what != lock_event::kind::acquired)
        return;
    event_.loss = how;
    tell(lock_event::kind::lost);
}

void acquire_events::failed(boost::system::error_code why) noexcept
{
    tell_place();
    tell(lock_event::kind::failed, why);
}

void acquire_events::released(boost::system::error_code ec) noexcept
{
    if (event_.what == lock_event::kind::acquired)
        tell(lock_event::kind::released, ec);
}

void acquire_events::tell_place() noexcept
{
    if (std::exchange(place_untold_, false))
        tell(lock_event::kind::queued);
    event_.behind.reset();
}

void acquire_events::tell(lock_event::kind what, boost::system::error_code ec) noexcept
{
    event_.what = what;
    event_.error = ec;
    event_.at = session_.scheduler.now();
    store::tell_listener(*listener_, event_, session_.log);
}

} // namespace zklock::recipes
