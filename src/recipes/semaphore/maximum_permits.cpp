#include "recipes/semaphore/maximum_permits.hpp"

#include "recipes/semaphore/semaphore_path.hpp"
#include "recipes/session/error_mapping.hpp"
#include "recipes/session/option_faults.hpp"

#include <utility>

namespace zklock::recipes {

using store::outcome;

maximum_permits::maximum_permits(semaphore_path& semaphore, session& s, const semaphore_layout& layout)
    : semaphore_part(semaphore, s, layout), path_(semaphore.options().count_path), parents_(s)
{
    if (!exists())
        maximum_ = semaphore.options().permits;
}

void maximum_permits::listen()
{
    if (!exists() || listens_)
        return;
    session_.listeners().listen(path_, semaphore_);
    listens_ = true;
}

bool maximum_permits::stop_listening()
{
    return listens_ && session_.listeners().stop_listening(path_, semaphore_);
}

void maximum_permits::stop_watching()
{
    if (!listens_ || reads_ != 0)
        return;
    listens_ = false;
    if (session_.listeners().stop_listening(path_, semaphore_, std::exchange(watched_, false)))
        session_.store.unwatch(path_, semaphore_.expect([](const store::reply&) {}));
}

bool maximum_permits::on_event(store::event_kind kind, std::string_view path) noexcept
{
    if (path != path_ || kind == store::event_kind::children_changed)
        return false;
    watched_ = false;
    outdated_ = true;
    return true;
}

void maximum_permits::read(bool watch)
{
    if (changes_are_told())
        return;
    ++reads_;
    session_.store.get(path_, watch, semaphore_.expect([this, watch](const store::get_reply& answer) {
        --reads_;
        on_read(answer, watch);
    }));
}

void maximum_permits::on_read(const store::get_reply& answer, bool watch)
{
    outdated_ = outdated_ && answer.result == outcome::unknown;
    switch (answer.result) {
    case outcome::ok:
        watched_ = watched_ || watch;
        maximum_ = count_of(answer.data);
        if (!maximum_)
            semaphore_.fail_heads(report_fault(session_, semaphore_.path(),
                                               {"the data of count_path (" + in_words(path_) + ')',
                                                std::to_string(answer.data.size()) + " bytes",
                                                "four bytes, the most significant first"}));
        return;
    case outcome::no_node: maximum_ = std::nullopt; return make();
    case outcome::unknown: return;
    default: maximum_ = std::nullopt; semaphore_.fail_heads(error_of(answer.result));
    }
}

void maximum_permits::make()
{
    const semaphore_options* const head = semaphore_.options_of_head();
    if (!head || parents_.busy())
        return;
    session_.store.create(path_, count_data(static_cast<std::int32_t>(semaphore_.options().permits)),
                          store::node_kind::persistent, head->access ? &*head->access : nullptr,
                          semaphore_.expect([this, access = head->access](const store::create_reply& answer) {
                              log_refusal(session_, semaphore_.path(), access, answer.result);
                              on_made(answer);
                          }));
}

void maximum_permits::on_made(const store::create_reply& answer)
{
    switch (answer.result) {
    case outcome::ok:
    case outcome::node_exists: return semaphore_.look_again(); // and it is read
    case outcome::unknown: return;
    case outcome::no_node: {
        const std::string parent(queue::parent_of(path_));
        return parent.empty() ? semaphore_.fail_heads(errc::no_such_chroot) : semaphore_.make_path(parents_, parent);
    }
    default: semaphore_.fail_heads(error_of(answer.result));
    }
}

void maximum_permits::take_containers(maximum_permits& from)
{
    if (from.path_ == path_)
        parents_.made.take(from.parents_.made);
}

// --- whether all mean the same ---------------------------------------------------------------------------------------

bool maximum_permits::agreed() const noexcept
{
    return check_ == check_state::passed || !semaphore_.options().check_permits;
}

void maximum_permits::check()
{
    if (check_ != check_state::due || agreed())
        return;
    check_ = check_state::under_way;
    session_.store.get(semaphore_.path(), false,
                       semaphore_.expect([this](const store::get_reply& answer) { on_checked(answer); }));
}

void maximum_permits::on_checked(const store::get_reply& answer)
{
    check_ = check_state::due;
    switch (answer.result) {
    case outcome::ok: break;
    case outcome::no_node: // it is made with the nodes
    case outcome::unknown: return semaphore_.look_again();
    default: return semaphore_.fail_heads(error_of(answer.result));
    }
    if (answer.data.empty())
        return write(answer.stat.version);
    const auto number = number_in(answer.data);
    if (!number || *number == static_cast<std::int64_t>(semaphore_.options().permits))
        check_ = check_state::passed; // other text is somebody's own business
    else
        semaphore_.fail_heads(report_fault(session_, semaphore_.path(),
                                           {"permits", std::to_string(semaphore_.options().permits),
                                            std::to_string(*number) + ", as the path's data says (check_permits)"}));
}

void maximum_permits::write(std::int32_t version)
{
    check_ = check_state::under_way;
    session_.store.set(semaphore_.path(), std::to_string(semaphore_.options().permits), version,
                       semaphore_.expect([this](const store::stat_reply& answer) { on_written(answer); }));
}

void maximum_permits::on_written(const store::stat_reply& answer)
{
    check_ = check_state::due;
    semaphore_.look_again();
    switch (answer.result) {
    case outcome::ok: break;
    case outcome::bad_version: // somebody else was faster: it is read again
    case outcome::no_node:
    case outcome::unknown: return;
    default: return semaphore_.fail_heads(error_of(answer.result));
    }
    check_ = check_state::passed;
    semaphore_.path_written(answer.stat);
}

} // namespace zklock::recipes
