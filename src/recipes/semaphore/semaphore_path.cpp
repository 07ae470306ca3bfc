#include "recipes/semaphore/semaphore_path.hpp"

#include <algorithm>
#include <chrono>

namespace zklock::recipes {

semaphore_path::semaphore_path(locks& l, const std::string& path, semaphore_path_options options,
                               std::function<void()> idle)
    : recipe_path(l.session(), path, std::move(idle)), locks_(l), options_(std::move(options)),
      layout_(path, options_.names), nodes_(*this, session_, layout_), maximum_(*this, session_, layout_),
      in_use_(*this, session_, layout_)
{
    session_.add(*this);
    session_.listeners().listen(layout_.permits, *this);
}

semaphore_path::~semaphore_path()
{
    for (const auto& [id, acquisition] : acquisitions_)
        acquisition->detach();
    session_.remove(*this);
    if (listens_) {
        session_.listeners().stop_listening(layout_.permits, *this);
        static_cast<void>(maximum_.stop_listening());
    }
}

/// What was left to others, who have gone, is taken back.
void semaphore_path::give_way()
{
    listens_ = false;
    const bool permits_left = session_.listeners().stop_listening(layout_.permits, *this);
    const bool count_left = maximum_.stop_listening();
    if (permits_left && session_.connected())
        session_.unwatch(layout_.permits);
    if (count_left && session_.connected())
        session_.unwatch(options_.count_path);
}

bool semaphore_path::idle() const noexcept
{
    const bool watched = in_use_.watched() || maximum_.watches();
    return acquisitions_.empty() && nodes_.none() && !answers_due() && !watched;
}

bool semaphore_path::only_leaving() const noexcept
{
    return std::none_of(acquisitions_.begin(), acquisitions_.end(),
                        [](const auto& each) { return each.second->waiting() || each.second->holding(); });
}

// --- acquires --------------------------------------------------------------------------------------------------------

std::shared_ptr<semaphore_acquisition> semaphore_path::acquire(permits_request request)
{
    use();
    const auto acquisition =
        std::make_shared<semaphore_acquisition>(session_, this, locks_.new_id(), std::move(request));
    maximum_.listen();
    adopt(acquisition);
    ++waiting_;
    acquisition->arm_deadline();
    if (acquisition->looks_once())
        in_use_.look_once(acquisition);
    else
        acquisition->line_up();
    advance();
    return acquisition;
}

void semaphore_path::make_nodes(semaphore_acquisition& head)
{
    // What the line has made above both goes with whichever of the two goes last.
    parents_.made.add(locks_.containers_above(layout_.line));
    // A head that waited would hold up the line: its nodes are made now or not at all.
    if (head.request().count > session_.options.node_budget_limit / nodes_.cost() ||
        session_.budget().reserve(head.request().count * nodes_.cost(), true) != budget_line::verdict::granted)
        return head.fail(errc::over_budget);
    head.no_room = false;
    heads_.push_back(head.shared_from_this());
    nodes_.want(head);
    look_again();
    advance();
}

bool semaphore_path::head_finds_room() const noexcept
{
    return !heads_.empty() &&
           std::none_of(heads_.begin(), heads_.end(), [](const auto& head) { return head->lacks_room(); });
}

std::size_t semaphore_path::permits_known() const noexcept
{
    return static_cast<std::size_t>(std::max<std::int64_t>(maximum_.now().value_or(options_.permits), 0));
}

void semaphore_path::fail_heads(errc why)
{
    for (const auto& head : heads())
        head->fail(why);
}

// --- doing what is to be done ----------------------------------------------------------------------------------------

void semaphore_path::advance()
{
    if (session_.over())
        return;
    if (session_.connected()) {
        nodes_.send(!parents_.busy());
        in_use_.look(!parents_.busy());
        if (waiting_ == 0)
            in_use_.stop_watching();
    }
    tell_if_idle();
}

const semaphore_options* semaphore_path::options_of_head() const noexcept
{
    return heads_.empty() ? nullptr : &heads_.front()->request().options;
}

void semaphore_path::make_path(parent_maker& maker, const std::string& path)
{
    if (const semaphore_options* const head = options_of_head(); head && !maker.busy())
        recipe_path::make_path(maker, path, head->parents, head->access);
}

void semaphore_path::path_answered(std::optional<errc> refusal)
{
    look_again();
    if (refusal)
        fail_heads(*refusal);
}

void semaphore_path::make_own_path()
{
    if (maximum_.agreed())
        maximum_.path_gone();
    make_path(parents_, layout_.permits);
}

/// The data is this client's own: with a container that was made for the semaphore nothing of others would be lost.
void semaphore_path::path_written(const store::node_stat& stat)
{
    const bool above = path_ != layout_.permits;
    written_above(above ? 1 : 0, stat);
    if (above)
        locks_.written_above(layout_.line, 1, stat);
}

/// First where the permits are; then what it has made above the shared count, if that is not there.
recipe_path::making semaphore_path::next_making() noexcept
{
    if (parents_.made.any())
        return {layout_.permits, &parents_.made};
    return maximum_.making();
}

void semaphore_path::take_containers(semaphore_path& from)
{
    if (from.layout_.permits == layout_.permits)
        recipe_path::take_containers(from);
    maximum_.take_containers(from.maximum_);
}

// --- what the session tells ------------------------------------------------------------------------------------------

void semaphore_path::epoch_began()
{
    nodes_.epoch_began();
    look_again();
    advance();
}

void semaphore_path::epoch_ended()
{
    in_use_.epoch_ended();
    maximum_.epoch_ended();
    nodes_.epoch_ended();
    refuse_tries();
}

void semaphore_path::refuse_tries()
{
    for (const auto& [id, acquisition] : acquisitions())
        if (acquisition->waiting() && acquisition->looks_once())
            acquisition->fail(errc::not_connected);
    advance();
}

void semaphore_path::session_ended()
{
    for (const auto& [id, acquisition] : acquisitions()) {
        acquisition->lose();
        acquisition->note_setback(errc::session_expired);
        acquisition->nodes.clear(); // its lock went with the session, too: it will hear of that, and begin anew
    }
    nodes_.session_ended();
    advance();
}

void semaphore_path::lease_lapsed()
{
    for (const auto& [id, acquisition] : acquisitions()) {
        acquisition->lose();
        acquisition->note_setback(errc::not_connected);
    }
    advance();
}

void semaphore_path::refuse_all(errc why)
{
    for (const auto& [id, acquisition] : acquisitions())
        acquisition->fail(why);
    advance();
}

void semaphore_path::stop(errc why)
{
    for (const auto& [id, acquisition] : acquisitions()) {
        acquisition->fail(why);
        acquisition->lose();
    }
    nodes_.stop(why);
}

bool semaphore_path::notice_long_holder(store::scheduler::time_point now)
{
    constexpr std::chrono::milliseconds long_hold{100};
    bool others = false;
    for (const auto& [id, acquisition] : acquisitions_) {
        if (!acquisition->holding())
            continue;
        if (now - acquisition->held_since() < long_hold)
            others = true;
        else
            nodes_.watch(*acquisition, false);
    }
    advance();
    return others;
}

bool semaphore_path::watches_child(std::string_view path, std::string_view child) const
{
    return path == layout_.permits && nodes_.is_watched(child);
}

bool semaphore_path::owns_child(std::string_view path, std::string_view child) const
{
    return path == layout_.permits && nodes_.owns(child);
}

bool semaphore_path::misses_child(std::string_view path, const std::set<std::string_view>& names) const
{
    return path == layout_.permits && nodes_.misses_one(names);
}

void semaphore_path::on_own_event(store::event_kind kind, std::string_view path)
{
    if (path == layout_.permits && kind != store::event_kind::data_changed)
        in_use_.list_changed();
    if (maximum_.on_event(kind, path))
        look_again();
    advance();
}

void semaphore_path::on_node_event(store::event_kind kind, std::string_view path, std::string_view child)
{
    if (path == layout_.permits && nodes_.on_event(kind, child))
        advance();
}

} // namespace zklock::recipes
