#include "recipes/requests/contender_list.hpp"

#include "queue/node_path.hpp"
#include "recipes/session/error_mapping.hpp"
#include "recipes/session/node_owner.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace zklock::recipes {

using store::outcome;

std::int32_t permit_sequence(std::string_view child) noexcept
{
    const auto dash = child.rfind('-');
    std::int32_t number = 0;
    if (dash == std::string_view::npos)
        return number;
    const bool negative = dash != 0 && child[dash - 1] == '-'; // past 2^31; nothing depends on the order of permits
    std::from_chars(child.data() + dash + (negative ? 0 : 1), child.data() + child.size(), number);
    return number;
}

constinit const list_kind list_kind::queue{};
constinit const list_kind list_kind::permits{true, {}};

std::optional<zklock::queue::contender_name> list_kind::read(std::string_view child) const noexcept
{
    if (of_permits)
        return zklock::queue::contender_name{permit_sequence(child), zklock::queue::contender_kind::mutex};
    return rules.parse(child);
}

/// kazoo's nodes of permits have no numbers: their age tells the order.
bool list_kind::before(const contender& a, const contender& b) const
{
    if (of_permits)
        return std::tie(a.sequence, a.created, a.node) < std::tie(b.sequence, b.created, b.node);
    return std::tie(a.sequence, a.node) < std::tie(b.sequence, b.node);
}

contender_list::contender_list(session& s, std::string path, std::function<void(const std::string&)> gone,
                               done_function f, list_kind what, std::size_t most)
    : request_of_several(s, if_lost::asked_again, std::move(f)), path_(std::move(path)), gone_(std::move(gone)),
      what_(what), most_(most)
{
}

bool contender_list::has_more() const noexcept
{
    return !ended() && !to_read_.empty() && found_.size() + answers_due() < most_;
}

/// Begins anew: what an earlier connection has told is read again.
void contender_list::restart()
{
    listing_ = false;
    to_read_.clear();
    found_.clear();
}

void contender_list::send()
{
    if (std::exchange(listing_, true))
        return read();
    list_children(path_, [this](const std::vector<std::string>* names) {
        if (names)
            to_read_.assign(*names, what_);
    });
}

void contender_list::read()
{
    const children_in_order::child child = to_read_.front();
    const auto take = [this, node = queue::child_of(path_, child.name),
                       n = child.read](const store::get_reply& answer) {
        if (ended())
            return;
        if (answer.result == outcome::ok) {
            found_.push_back(contender_as_read(session_, node, n, answer));
        } else if (answer.result == outcome::no_node) {
            gone_(node);
        } else {
            fail(error_of(answer.result));
        }
    };
    session_.store.get(queue::child_of(path_, child.name), false, one_answered(take));
    to_read_.pop();
}

/// The nodes were read in the order of their numbers, which need not be the order of the list.
void contender_list::finish()
{
    const auto before = [this](const contender& a, const contender& b) { return what_.before(a, b); };
    if (!std::ranges::is_sorted(found_, before))
        std::ranges::sort(found_, before);
    end({}, std::move(found_));
}

} // namespace zklock::recipes
