#include "recipes/requests/children_in_order.hpp"

#include <algorithm>
#include <tuple>

namespace zklock::recipes {

std::string_view children_in_order::name(const entry& p) const noexcept
{
    return std::string_view(text_).substr(p.begin, p.length);
}

auto children_in_order::later() const noexcept
{
    return [this](const entry& a, const entry& b) {
        return std::tuple(a.read.sequence, name(a)) > std::tuple(b.read.sequence, name(b));
    };
}

void children_in_order::assign(const std::vector<std::string>& children, reader read, const queue::name_rules& rules)
{
    clear();
    for (const std::string& child : children) {
        const auto meant = read(rules, child);
        if (!meant)
            continue;
        left_.push_back({*meant, static_cast<std::uint32_t>(child.size()), text_.size()});
        text_ += child;
    }
    std::make_heap(left_.begin(), left_.end(), later());
}

void children_in_order::clear() noexcept
{
    left_.clear();
    text_.clear();
}

auto children_in_order::front() const -> child
{
    return {name(left_.front()), left_.front().read};
}

void children_in_order::pop()
{
    std::pop_heap(left_.begin(), left_.end(), later());
    left_.pop_back();
}

} // namespace zklock::recipes
