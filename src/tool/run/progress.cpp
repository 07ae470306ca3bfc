#include "tool/run/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace zklock::tool {

void progress::look()
{
    const auto began = lease_clock::now();
    if (looking_ || ended_ || began < next_look_)
        return;
    looking_ = true;
    lock_.list_holders([self = shared_from_this(), began](error_code error, std::vector<contender> holders) {
        if (error) {
            self->looking_ = false; // the acquire tells
            return;
        }
        self->lock_.list([self, began, holders = std::move(holders)](error_code error, std::vector<contender> queue) {
            const auto now = lease_clock::now();
            self->looking_ = false;
            self->next_look_ = now + 20 * (now - began);
            if (!error && !self->ended_)
                self->show(holders, queue);
        });
    });
}

void progress::show(const std::vector<contender>& holders, const std::vector<contender>& queue)
{
    const auto own = std::ranges::find(queue, true, &contender::ours);
    if (own == queue.end())
        return;
    const auto place = static_cast<std::size_t>(own - queue.begin()) + 1;
    boost::json::object details{{"path", path_}, {"place", place}, {"queue", queue.size()}};
    std::string text = fmt::format("waiting for {}: place {} of {}", path_, place, queue.size());
    if (!holders.empty() && !holders.front().ours) {
        const contender& first = holders.front();
        const std::string name = first.revoked ? "one who was asked to let go" : printable(first.identifier);
        details["holder"] = first.revoked ? std::string() : first.identifier;
        details["holder_node"] = first.node;
        text += fmt::format(", held by {} for {} s", name,
                            std::chrono::duration_cast<std::chrono::seconds>(first.age()).count());
    }
    out_.show(std::move(details), text);
}

} // namespace zklock::tool
