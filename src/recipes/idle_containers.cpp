#include "recipes/idle_containers.hpp"

#include "recipes/resting_member.hpp"
#include "recipes/session_core.hpp"

#include <algorithm>
#include <utility>

namespace zklock::recipes {

using store::outcome;

namespace {

/// Those of more are left to the servers.
constexpr std::size_t most_waiting = 4096;

} // namespace

idle_containers::idle_containers(session_core& core) : core_(core) {}
idle_containers::~idle_containers() = default;

void idle_containers::enter(resting_member& member)
{
    member.place_ = resting_member::place::leaving;
    waiting_.push_back(member);
    if (waiting_.size() > most_waiting) {
        resting_member& oldest = waiting_.front();
        forget(oldest);
        oldest.leave_containers();
    }
    proceed();
}

void idle_containers::forget(resting_member& member) noexcept
{
    waiting_.erase(waiting_.iterator_to(member));
    member.place_ = resting_member::place::nowhere;
}

void idle_containers::proceed()
{
    if (waiting_.empty() || !under_way_.empty() || !core_.connected || std::exchange(gathering_, true))
        return;
    core_.tell([this] {
        gathering_ = false;
        send();
    });
}

void idle_containers::send()
{
    if (!core_.connected)
        return;
    while (under_way_.size() < together_ && !waiting_.empty()) {
        resting_member& member = waiting_.front();
        forget(member);
        removal next{&member, {}};
        if (member.next_container(next.node))
            under_way_.push_back(std::move(next));
    }
    if (under_way_.size() == 1)
        return core_.store.remove(under_way_.front().node, store::any_version, [this](const store::reply& answer) {
            on_answer(answer, 0);
        });
    std::vector<store::batch_write> batch;
    batch.reserve(under_way_.size());
    for (const removal& r : under_way_) {
        store::batch_write& write = batch.emplace_back();
        write.what = store::batch_write::kind::remove;
        write.path = r.node;
    }
    if (!batch.empty())
        core_.store.batch(batch, [this](const store::batch_reply& answer) { on_answer(answer, answer.failed); });
}

/// `failed`: which one the answer is about, if it is about one of them.
void idle_containers::on_answer(const store::reply& answer, std::size_t failed)
{
    core_.wrote(answer);
    const std::vector<removal> sent = std::exchange(under_way_, {});
    const bool undone = sent.size() > 1 && answer.result != outcome::ok && answer.result != outcome::unknown;
    if (undone)
        together_ = std::max<std::size_t>(1, failed < sent.size() ? together_ / 4 : 1);
    else if (answer.result == outcome::ok)
        together_ = std::min(most_together, 2 * together_);
    for (std::size_t i = sent.size(); undone && i-- != 0;) {
        if (i == failed)
            continue;
        sent[i].member->container_not_removed();
        sent[i].member->place_ = resting_member::place::leaving;
        waiting_.push_front(*sent[i].member);
    }
    for (std::size_t i = 0; i != sent.size(); ++i)
        if (!undone || i == failed)
            sent[i].member->on_container_removed(answer.result);
    proceed();
}

} // namespace zklock::recipes
