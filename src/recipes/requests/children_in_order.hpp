#pragma once
#include "queue/node_name.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::recipes {

/// Names of a node's children, to be taken one after the other in the order of their numbers. There may be 100,000 of
/// them: so they are kept as one text, and are put in order little by little, as they are taken.
class children_in_order {
public:
    /// Reads the name of a child by the rules of the path; nothing for one that is to be left out.
    using reader = std::optional<queue::contender_name> (*)(const queue::name_rules&, std::string_view child) noexcept;

    /// Puts those that `reader` does not leave out in place of what was there.
    void assign(const std::vector<std::string>& children, reader, const queue::name_rules& = {});
    void clear() noexcept;

    [[nodiscard]] bool empty() const noexcept { return left_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return left_.size(); }

    struct child {
        std::string_view name; ///< valid until the next assign() or clear()
        queue::contender_name read;
    };
    /// The first of those that are left. There has to be one.
    [[nodiscard]] child front() const;
    void pop();

private:
    struct entry {
        queue::contender_name read;
        std::uint32_t length;
        std::size_t begin; ///< in the text
    };
    [[nodiscard]] std::string_view name(const entry&) const noexcept;
    [[nodiscard]] auto later() const noexcept;

    std::string text_;
    std::vector<entry> left_; ///< a heap
};

} // namespace zklock::recipes
