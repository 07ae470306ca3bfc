#include "recipes/semaphore/room_looks.hpp"

#include "recipes/semaphore/semaphore_path.hpp"
#include "recipes/session/error_mapping.hpp"


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
