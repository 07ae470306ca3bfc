#pragma once
#include "queue/node_name.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace zklock::recipes {

/// Names of a node's children, to be taken one after the other in the order of their numbers. There may be 100,000 of
/// them: so they are kept as one text, and are put in order little by little, as they are taken.
class children_in_order {
    struct entry {
        queue::contender_name read;
        std::uint32_t length;
        std::size_t begin; ///< in the text
    };
    [[nodiscard]] std::string_view name(const entry& e) const noexcept
    {
        return std::string_view(text_).substr(e.begin, e.length);
    }
    [[nodiscard]] auto place() const noexcept
    {
        return [this](const entry& e) { return std::tuple(e.read.sequence, name(e)); };
    }

public:
    /// Puts those that `kind` reads in place of what was there.
    template <class Kind> void assign(const std::vector<std::string>& children, const Kind& kind)
    {
        clear();
        for (const std::string& child : children) {
            const auto read = kind.read(child);
            if (!read)
                continue;
            left_.push_back({*read, static_cast<std::uint32_t>(child.size()), text_.size()});
            text_ += child;
        }
        std::ranges::make_heap(left_, std::ranges::greater(), place());
    }
    void clear() noexcept
    {
        left_.clear();
        text_.clear();
    }

    [[nodiscard]] bool empty() const noexcept { return left_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return left_.size(); }

    struct child {
        std::string_view name; ///< valid until the next assign() or clear()
        queue::contender_name read;
    };
    /// The first of those that are left. There has to be one.
    [[nodiscard]] child front() const { return {name(left_.front()), left_.front().read}; }
    void pop()
    {
        std::ranges::pop_heap(left_, std::ranges::greater(), place());
        left_.pop_back();
    }

private:
    std::string text_;
    std::vector<entry> left_; ///< a heap
};

} // namespace zklock::recipes
