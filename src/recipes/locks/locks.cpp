#include "recipes/locks/locks.hpp"

#include "queue/owner_data.hpp"

#include <chrono>
#include <utility>

namespace zklock::recipes {
namespace {

bool valid(const mutex_options& options, const std::string& clients_identifier)
{
    constexpr std::chrono::hours longest_linger{24};
    const std::string& identifier = options.identifier.empty() ? clients_identifier : options.identifier;
    return queue::valid_owner_data(identifier, options.properties) &&
           options.linger.count() >= 0 && options.linger <= longest_linger && options.cohort >= 1 &&
           options.cohort <= grants_of_a_czxid;
}

} // namespace

std::optional<errc> locks::refusal(const std::string& path, const mutex_options& options) const
{
    return refusal(path, paths_.find(path), options);
}

std::optional<errc> locks::refusal(const std::string& path, const lock_path* known,
                                   const mutex_options& options) const
{
    const auto why = session_.refusal(path, known != nullptr);
    return why || valid(options, session_.options.identifier) ? why : errc::invalid_option;
}

std::shared_ptr<acquisition> locks::acquire(acquire_request request)
{
    lock_path* const known = paths_.find(request.path);
    std::optional<errc> why = refusal(request.path, known, *request.options);
    lock_path* path = nullptr;
    if (!why) {
        const path_options options(*request.options, request.kind);
        path = paths_.get(request.path, known, options, [&](std::function<void()> idle) {
            return std::make_unique<lock_path>(session_, request.path, options, std::move(idle));
        });
        if (!path)
            why = errc::invalid_option;
    }
    if (path)
        return path->acquire(++last_contender_, std::move(request));
    const auto refused = std::make_shared<lock_contender>(session_, nullptr, ++last_contender_, std::move(request));
    refused->fail(*why);
    return refused;
}

made_containers locks::containers_above(const std::string& path) const
{
    const lock_path* const known = paths_.find(path);
    return known ? known->upper_containers() : made_containers();
}

void locks::written_above(const std::string& path, std::size_t level, const store::node_stat& stat) noexcept
{
    if (lock_path* const known = paths_.find(path))
        known->written_above(level, stat);
}

} // namespace zklock::recipes
