#include "recipes/semaphore/room_looks.hpp"

#include "recipes/semaphore/semaphore_path.hpp"
#include "recipes/session/error_mapping.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace zklock::recipes {

using store::outcome;

room_looks::room_looks(semaphore_path& semaphore, session& s, const permit_nodes& nodes, shared_count& count)
    : semaphore_(semaphore), session_(s), nodes_(nodes), count_(count)
{
}

void room_looks::look(const std::shared_ptr<semaphore_acquisition>& acquisition)
{
    if (!session_.connected())
        return acquisition->fail(errc::not_connected);
    if (looks_.add(acquisition))
        send();
}

void room_looks::send()
{
    const std::uint64_t grants = session_.catch_up().with_handoffs();
    count_.read(false);
    session_.store.children(
        semaphore_.layout().permits, false, semaphore_.expect([this, grants](const store::children_reply& answer) {
            semaphore_.notice_refusal(answer.result);
            looks_.answered(
                session_,
                [&](semaphore_acquisition& each) {
                    if (each.waiting())
                        on_look(each, answer, grants);
                },
                [&] { send(); }, [](semaphore_acquisition& each) { each.fail(errc::not_connected); });
        }));
    looks_.sent();
}

/// `grants`: the catching up that went before; see catch_up::behind_handoffs().
void room_looks::on_look(semaphore_acquisition& acquisition, const store::children_reply& answer, std::uint64_t grants)
{
    if (answer.result == outcome::ok && session_.catch_up().behind_handoffs(grants))
        return acquisition.fail(session_.catch_up().refusal());
    if (answer.result != outcome::ok && answer.result != outcome::no_node)
        return acquisition.fail(error_of(answer.result));
    const std::size_t in_use = answer.result == outcome::ok ? answer.names->size() : 0;
    // A shared count that is not there yet will be made.
    const auto after = static_cast<std::int64_t>(in_use + acquisition.request().count);
    if (after > count_.maximum().value_or(semaphore_.options().permits)) {
        acquisition.note_refusal(true);
        return acquisition.fail(errc::busy);
    }
    acquisition.line_up();
}

void room_looks::look_at_holder()
{
    constexpr std::chrono::milliseconds a_moment{250};
    const auto now = session_.scheduler.now();
    if (!session_.connected() || (holder_ && now - holder_look_began_ < a_moment))
        return;
    const auto look = std::make_shared<holder_look>(session_, semaphore_.layout().permits, &first_permit);
    forget_holder();
    holder_ = look;
    holder_look_began_ = now;
    session_.requests().enter(look);
}

/// A node of ours may be that of one who waits at the head of the line.
std::optional<contender> room_looks::holder_seen() const
{
    if (!holder_ || !holder_->found())
        return std::nullopt;
    const permit_ptr own = nodes_.find(holder_->child());
    const bool waits = own && own->owner != nullptr && own->owner->waiting();
    return waits ? std::nullopt : holder_->found();
}

void room_looks::forget_holder() noexcept
{
    if (holder_)
        holder_->withdraw();
    holder_.reset();
}

void room_looks::epoch_ended() noexcept
{
    if (holder_ && !holder_->found())
        forget_holder();
}

} // namespace zklock::recipes
