#include "recipes/semaphore/room_looks.hpp"

#include "recipes/semaphore/semaphore_path.hpp"

namespace zklock::recipes {

using store::outcome;

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
    semaphore_.count().read(false);
    session_.store.children(
        layout_.permits, false, semaphore_.expect([this, grants](const store::children_reply& answer) {
            semaphore_.notice_refusal(answer.result);
            looks_.answered(
                session_, answer.result, grants, [&](semaphore_acquisition& each) { on_look(each, answer); },
                [&] { send(); }, [](semaphore_acquisition& each, errc why) { each.fail(why); });
        }));
    looks_.sent();
}

void room_looks::on_look(semaphore_acquisition& acquisition, const store::children_reply& answer)
{
    if (!acquisition.waiting())
        return;
    const std::size_t in_use = answer.result == outcome::ok ? answer.names->size() : 0;
    // A shared count that is not there yet will be made.
    const auto after = static_cast<std::int64_t>(in_use + acquisition.request().count);
    if (after > semaphore_.count().maximum().value_or(semaphore_.options().permits)) {
        acquisition.note_refusal(true);
        return acquisition.fail(errc::busy);
    }
    acquisition.line_up();
}

void room_looks::look_at_holder()
{
    if (session_.connected() && !(holder_.get() && holder_.is_new(session_.scheduler.now())))
        holder_.begin(session_, std::make_shared<holder_look>(session_, layout_.permits, &first_permit));
}

/// A node of ours may be that of one who waits at the head of the line.
std::optional<contender> room_looks::holder_seen() const
{
    const holder_look* const look = holder_.get();
    return !look || semaphore_.nodes().of_a_waiter(look->child()) ? std::nullopt : look->found();
}

} // namespace zklock::recipes
