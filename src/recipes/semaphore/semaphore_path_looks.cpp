// What the head of a semaphore's line looks at before it is granted: how many permits are in use, and of how many.
#include "recipes/semaphore/semaphore_path.hpp"

#include "queue/node_name.hpp"
#include "recipes/session/error_mapping.hpp"
#include "recipes/session/option_faults.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <unordered_set>

namespace zklock::recipes {

using store::outcome;

namespace {

/// A decimal number and nothing else.
std::optional<std::int64_t> number_in(std::string_view text)
{
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

/// Finds the permit that came first, as far as the numbers in the names tell; the name is empty if there is none.
std::string first_permit(const std::vector<std::string>& children)
{
    const auto number = [](std::string_view name) {
        return name.substr(name.size() - std::min(name.size(), queue::sequence_digits));
    };
    const auto first =
        std::min_element(children.begin(), children.end(),
                         [&](const std::string& a, const std::string& b) { return number(a) < number(b); });
    return first == children.end() ? std::string() : *first;
}

} // namespace

/// An acquire that looks once writes nothing when it can see that there is no room.
void semaphore_path::look(const std::shared_ptr<semaphore_acquisition>& acquisition)
{
    if (!session_.connected)
        return acquisition->fail(errc::not_connected);
    if (looks_.add(acquisition))
        send_looks();
}

void semaphore_path::send_looks()
{
    const std::uint64_t grants = session_.catch_up.with_handoffs();
    count_.read(false);
    session_.store.children(layout_.permits, false, expect([this, grants](const store::children_reply& answer) {
        notice_refusal(answer.result);
        looks_.answered(
            session_,
            [&](semaphore_acquisition& each) {
                if (each.waiting())
                    on_look(each, answer, grants);
            },
            [&] { send_looks(); }, [](semaphore_acquisition& each) { each.fail(errc::not_connected); });
    }));
    looks_.sent();
}

/// `grants`: the catching up that went before; see catch_up::behind_handoffs().
void semaphore_path::on_look(semaphore_acquisition& acquisition, const store::children_reply& answer,
                             std::uint64_t grants)
{
    if (answer.result == outcome::ok && session_.catch_up.behind_handoffs(grants))
        return acquisition.fail(session_.catch_up.refusal());
    if (answer.result != outcome::ok && answer.result != outcome::no_node)
        return acquisition.fail(error_of(answer.result));
    const std::size_t in_use = answer.result == outcome::ok ? answer.names->size() : 0;
    // A shared count that is not there yet will be made.
    const auto after = static_cast<std::int64_t>(in_use + acquisition.request().count);
    if (after > count_.maximum().value_or(options_.permits)) {
        acquisition.note_refusal(true);
        return acquisition.fail(errc::busy);
    }
    acquisition.line_up();
}

void semaphore_path::look_at_holder()
{
    constexpr std::chrono::milliseconds a_moment{250};
    const auto now = session_.scheduler.now();
    if (!session_.connected || (holder_look_ && now - holder_look_began_ < a_moment))
        return;
    const auto look = std::make_shared<holder_look>(session_, layout_.permits, &first_permit);
    forget_holder();
    holder_look_ = look;
    holder_look_began_ = now;
    session_.requests.enter(look);
}

bool semaphore_path::head_finds_room() const noexcept
{
    return !heads_.empty() && std::none_of(heads_.begin(), heads_.end(), [](const semaphore_acquisition* head) {
        return head->lacks_room();
    });
}

/// A node of ours may be that of one who waits at the head of the line.
std::optional<contender> semaphore_path::holder_seen() const
{
    if (!holder_look_ || !holder_look_->found())
        return std::nullopt;
    const auto own = by_name_.find(holder_look_->child());
    const bool waits = own != by_name_.end() && own->second->owner != nullptr && own->second->owner->waiting();
    return waits ? std::nullopt : holder_look_->found();
}

std::size_t semaphore_path::permits_known() const noexcept
{
    return static_cast<std::size_t>(std::max<std::int64_t>(count_.maximum().value_or(options_.permits), 0));
}

void semaphore_path::forget_holder() noexcept
{
    if (holder_look_)
        holder_look_->withdraw();
    holder_look_.reset();
}

bool semaphore_path::look_is_due() const
{
    const bool all_sent = to_create_.empty() && unknown_.empty() && look_up_ == look_up::none && !parents_.busy();
    return stale_ && !listing_ && !heads_.empty() && all_sent && session_.lease.fresh();
}

/// The first look goes along with the creates and needs no watch, unless it is known to be in vain.
void semaphore_path::send_look()
{
    const auto known = static_cast<std::int64_t>(others_ + nodes_.size());
    const bool in_vain = count_.maximum() && known > *count_.maximum();
    const bool watch = std::exchange(shall_watch_, false) || in_vain;
    stale_ = false;
    listing_ = true;
    if (check_ == check::due)
        send_check();
    count_.read(watch);
    const bool armed = watch;
    session_.store.children(layout_.permits, armed, expect([this, watch](const store::children_reply& answer) {
        static const std::vector<std::string> none;
        listing_ = false;
        switch (answer.result) {
        case outcome::ok:
            watching_ = watching_ || watch;
            watch_refused_ = watch_refused_ && !watch;
            return on_list(*answer.names);
        case outcome::no_node: return on_list(none);
        case outcome::unknown: stale_ = true; return;
        default:
            fail_heads(error_of(answer.result));
            notice_refusal(answer.result);
        }
    }));
}

void semaphore_path::on_list(const std::vector<std::string>& names)
{
    std::unordered_set<std::string_view> listed;
    std::size_t others = 0;
    for (const std::string& name : names) {
        if (by_name_.contains(name))
            listed.insert(name);
        else
            ++others;
    }
    others_ = others;
    for (const auto& head : heads()) {
        const auto missing = [&](const permit_ptr& node) {
            return node->now == permit_node::phase::there && !listed.contains(node->name);
        };
        const auto found = std::find_if(head->nodes.begin(), head->nodes.end(), missing);
        if (found != head->nodes.end())
            lost_to_others(permit_ptr(*found));
        else
            decide(*head, names.size());
    }
}

/// `in_use`: how many permits are, those of the head among them.
void semaphore_path::decide(semaphore_acquisition& head, std::size_t in_use)
{
    const auto is_there = [](const permit_ptr& node) { return node->now == permit_node::phase::there; };
    const bool all_there = head.nodes.size() == head.request().count &&
                           std::all_of(head.nodes.begin(), head.nodes.end(), is_there);
    if (!all_there || !count_.is_current() || check_ != check::none)
        return; // what is missing makes it look again
    head.no_room = static_cast<std::int64_t>(in_use) > *count_.maximum();
    if (!head.no_room) {
        // The lease is fresh, then: the lock of the line has not been lost with it.
        if (head.at_head())
            head.grant_all();
    } else if (head.looks_once()) {
        head.note_refusal(true);
        head.fail(errc::busy);
    } else if (!watches()) {
        shall_watch_ = true;
        stale_ = true;
    }
}

/// Takes note of an answer about the nodes' own path. Who may not read it hears of no event: so the head looks again.
void semaphore_path::notice_refusal(outcome result) noexcept
{
    if (result == outcome::no_auth && watching_)
        watch_refused_ = shall_watch_ = stale_ = true;
}

/// Nobody is left who would look at what they tell.
void semaphore_path::stop_watching()
{
    if (waiting_ != 0)
        return;
    // The answer to a list that is under way says that there is a watch, and would say so after it was taken back.
    const bool listing = listing_;
    if (!listing && std::exchange(watching_, false) && session_.listeners.leave_watch(layout_.permits))
        session_.store.unwatch(layout_.permits, expect([](const store::reply&) {}));
    count_.stop_watching();
}

// --- whether all mean the same number --------------------------------------------------------------------------------

void semaphore_path::send_check()
{
    check_ = check::under_way;
    session_.store.get(path_, false, expect([this](const store::get_reply& answer) { on_check(answer); }));
}

void semaphore_path::on_check(const store::get_reply& answer)
{
    check_ = check::due;
    switch (answer.result) {
    case outcome::ok: break;
    case outcome::no_node: // it is made with the nodes
    case outcome::unknown: stale_ = true; return;
    default: return fail_heads(error_of(answer.result));
    }
    if (answer.data.empty())
        return write_maximum(answer.stat.version);
    const auto number = number_in(answer.data);
    if (!number || *number == static_cast<std::int64_t>(options_.permits))
        check_ = check::none; // other text is somebody's own business
    else
        fail_heads(report_fault(session_, path_,
                                {"permits", std::to_string(options_.permits),
                                 std::to_string(*number) + ", as the path's data says (check_permits)"}));
}

void semaphore_path::write_maximum(std::int32_t version)
{
    check_ = check::under_way;
    session_.store.set(path_, std::to_string(options_.permits), version,
                       expect([this](const store::stat_reply& answer) { on_maximum_written(answer); }));
}

void semaphore_path::on_maximum_written(const store::stat_reply& answer)
{
    check_ = check::due;
    stale_ = true;
    switch (answer.result) {
    case outcome::ok: break;
    case outcome::bad_version: // somebody else was faster: it is read again
    case outcome::no_node:
    case outcome::unknown: return;
    default: return fail_heads(error_of(answer.result));
    }
    check_ = check::none;
    // The data is this client's own: with a container that was made for the semaphore nothing of others would be lost.
    const bool above = path_ != layout_.permits;
    written_above(above ? 1 : 0, answer.stat);
    if (above)
        locks_.written_above(layout_.line, 1, answer.stat);
}

} // namespace zklock::recipes
