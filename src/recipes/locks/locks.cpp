#include "recipes/locks/locks.hpp"

#include "recipes/session/option_faults.hpp"

#include <utility>

namespace zklock::recipes {

std::optional<errc> locks::check(const std::string& path, const mutex_options& options) const
{
    if (const auto why = session_.why_unusable(path, paths_.find(path) != nullptr))
        return why;
    const std::string& own = options.identifier;
    auto fault = find_fault(options, own.empty() ? session_.options.identifier : own);
    if (!fault && options.access)
        fault = find_fault(options.access, session_.options);
    return fault ? report_fault(session_, path, *fault) : std::optional<errc>();
}

std::shared_ptr<acquisition> locks::acquire(acquire_request&& request)
{
    lock_path* const known = paths_.find(request.path);
    const bool as_before = known && known->took(request.options, request.kind);
    std::optional<errc> why =
        as_before ? session_.why_unusable(request.path, true) : check(request.path, *request.options);
    lock_path* path = nullptr;
    if (!why && as_before) {
        path = known;
    } else if (!why) {
        const path_options options(request.options, request.kind);
        path = paths_.get(request.path, known, options, [&](std::function<void()> idle) {
            return std::make_unique<lock_path>(session_, request.path, options, std::move(idle));
        });
        if (!path)
            why = report_fault(session_, request.path, contradiction(known->options(), options));
    }
    if (path)
        return path->acquire(++last_contender_, std::move(request));
    return refuse<lock_contender>(session_, ++last_contender_, std::move(request), *why);
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
