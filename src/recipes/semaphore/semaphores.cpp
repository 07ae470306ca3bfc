#include "recipes/semaphore/semaphores.hpp"

#include "queue/node_path.hpp"
#include "recipes/session/option_faults.hpp"

#include <utility>

namespace zklock::recipes {

std::optional<errc> semaphores::check(const permits_request& request) const
{
    const semaphore_options& o = request.options;
    const semaphore_layout layout(request.path, o.names);
    if (const auto why_not = locks_.check(request.path, layout.options_of_line(o)))
        return why_not;
    const std::string longest(layout.longest_name(), 'x');
    const bool shared = !o.count_path.empty();
    const session& s = locks_.session();
    if (!queue::valid_path(queue::child_of(layout.line, longest)) ||
        !queue::valid_path(queue::child_of(layout.permits, longest)))
        return report_path_fault(s, request.path, "it leaves no room for the names of nodes below it");
    if (shared) // it may have to be made
        if (const auto fault = find_path_fault(o.count_path, s.options.chroot))
            return report_path_fault(s, o.count_path, *fault);
    auto fault = first_fault({fault_of_numbers(o), fault_of_count(o, request.count)});
    if (!fault && shared && queue::is_child_of(o.count_path, layout.permits))
        fault = option_fault("count_path", in_words(o.count_path), "elsewhere: there it would be a permit in use");
    return fault ? report_fault(locks_.session(), request.path, *fault) : std::optional<errc>();
}

std::shared_ptr<semaphore_acquisition> semaphores::acquire(permits_request request)
{
    auto why_not = check(request);
    semaphore_path* path = nullptr;
    if (!why_not) {
        const semaphore_path_options options(request.options);
        semaphore_path* const known = paths_.find(request.path);
        path = paths_.get(request.path, known, options, [&](std::function<void()> idle) {
            return std::make_unique<semaphore_path>(locks_, request.path, options, std::move(idle));
        });
        if (!path)
            why_not = report_fault(locks_.session(), request.path, contradiction(known->options(), options));
    }
    if (path)
        return path->acquire(std::move(request));
    return refuse<semaphore_acquisition>(locks_.session(), locks_.new_id(), std::move(request), *why_not);
}

} // namespace zklock::recipes
