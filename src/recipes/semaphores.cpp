#include "recipes/semaphores.hpp"

#include "queue/node_path.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace zklock::recipes {
namespace {

constexpr std::size_t most_resting = 4096;
constexpr std::size_t most_permits = std::numeric_limits<std::int32_t>::max();

} // namespace

std::optional<errc> semaphores::objection(const permits_request& request) const
{
    const semaphore_options& o = request.options;
    mutex_options of_the_line;
    of_the_line.identifier = o.identifier;
    if (const auto why = session_.objection(request.path, of_the_line))
        return why;
    const semaphore_layout layout(request.path, o.names);
    const std::string longest(layout.longest_name(), 'x');
    const bool shared = !o.count_path.empty();
    if (!queue::valid_path(queue::child_of(layout.line, longest)) ||
        !queue::valid_path(queue::child_of(layout.leases, longest)) ||
        (shared && !queue::valid_lock_path(session_.core().options.chroot, o.count_path))) // it may have to be made
        return errc::invalid_path;
    if (request.count == 0 || request.count > most_permits || o.permits == 0 || o.permits > most_permits ||
        (!shared && request.count > o.permits) || (shared && o.check_permits) ||
        (shared && queue::parent_of(o.count_path) == layout.leases)) // it would be a permit in use
        return errc::invalid_option;
    return std::nullopt;
}

std::shared_ptr<semaphore_acquisition> semaphores::acquire(permits_request request)
{
    auto why = objection(request);
    semaphore_path* path = nullptr;
    if (!why) {
        path = path_for(request);
        if (!path)
            why = errc::invalid_option;
    }
    if (path)
        return path->acquire(std::move(request));
    const auto refused = std::make_shared<semaphore_acquisition>(session_.core(), nullptr, std::move(request));
    refused->fail(*why);
    return refused;
}

semaphores::semaphores(session& s) : session_(s), resting_(s.core(), most_resting) {}

semaphore_path* semaphores::path_for(const permits_request& request)
{
    const semaphore_terms terms(request.options);
    std::unique_ptr<semaphore_path>& entry = paths_[request.path];
    if (entry && entry->terms() == terms)
        return entry.get();
    if (entry && !entry->idle())
        return nullptr;
    auto fresh = std::make_unique<semaphore_path>(session_, request.path, terms,
                                                  [this, path = request.path] { path_rests(path); });
    if (entry) {
        fresh->take_over(*entry);
        if (entry->next_making().made->any()) { // elsewhere
            leaving_.push_back(std::move(entry));
            entry = std::move(fresh);
            leaving_.back()->retire();
            return entry.get();
        }
    }
    entry = std::move(fresh);
    return entry.get();
}

void semaphores::path_rests(const std::string& path)
{
    std::erase_if(leaving_, [](const auto& p) { return p->finished(); });
    for (const auto& p : leaving_) {
        p->wake();
        resting_.add(*p); // an answer was lost, or refused: it is retired once more
    }
    const auto found = paths_.find(path);
    if (found == paths_.end())
        return;
    found->second->wake();
    if (found->second->finished())
        paths_.erase(found);
    else if (found->second->idle())
        resting_.add(*found->second);
}

} // namespace zklock::recipes
