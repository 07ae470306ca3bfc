#include "recipes/requests/queue_requests.hpp"

#include "queue/node_path.hpp"
#include "recipes/session/option_faults.hpp"

#include <utility>

namespace zklock::recipes {

std::shared_ptr<user_request> queue_requests::contenders(const std::string& path, contender_list::done_function done,
                                                         list_kind what, std::size_t most)
{
    const auto gone = [&s = session_](const std::string& node) { s.on_node_event(store::event_kind::deleted, node); };
    return session_.requests().begin(
        std::make_shared<contender_list>(session_, path, gone, std::move(done), what, most),
        session_.why_unusable(path));
}

std::shared_ptr<user_request> queue_requests::revoke(const std::string& path, const std::string& node,
                                                     revocation::done_function done, list_kind what)
{
    std::optional<errc> why_not = session_.why_unusable(path);
    // The data of anything else below the path are its owner's.
    const bool of_the_lock =
        queue::valid_path(node) && queue::parent_of(node) == path && what.read(queue::name_of(node)).has_value();
    if (!why_not && !of_the_lock)
        why_not = report_path_fault(session_, node, "it is no node of a contender for " + path);
    return session_.requests().begin(std::make_shared<revocation>(session_, node, std::move(done)), why_not);
}

std::shared_ptr<user_request> queue_requests::revoke_holders(const std::string& path, revocation::done_function done,
                                                             list_kind what)
{
    return session_.requests().begin(std::make_shared<revocation>(session_, path, what, std::move(done)),
                                     session_.why_unusable(path));
}

} // namespace zklock::recipes
