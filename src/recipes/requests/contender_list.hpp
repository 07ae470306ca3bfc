#pragma once
#include "queue/node_name.hpp"
#include "recipes/requests/children_in_order.hpp"
#include "recipes/session/request_for.hpp"
#include "zklock/events.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::recipes {

/// How the children of a path are listed: as the queue of a lock, or as the permits of a semaphore.
struct list_kind {
    bool of_permits = false;         ///< all children: each stands for a permit in use
    zklock::queue::name_rules rules; ///< else: how contenders are named

    /// Whether the child is listed, and as what.
    [[nodiscard]] std::optional<zklock::queue::contender_name> read(std::string_view child) const noexcept;
    /// The names of those children that hold the lock, or a permit.
    [[nodiscard]] std::vector<std::string> holders(const std::vector<std::string>& children) const
    {
        return of_permits ? children : rules.holders_of(children);
    }
    /// The order of the list.
    [[nodiscard]] bool before(const contender&, const contender&) const;

    /// The contenders of a lock, by their numbers.
    static const list_kind queue;
    [[nodiscard]] static list_kind queue_named(zklock::queue::name_rules names) { return {false, std::move(names)}; }
    static const list_kind permits;
};

/// The number at the end of the name of a permit's node; 0 for one that has none.
[[nodiscard]] std::int32_t permit_sequence(std::string_view child) noexcept;

/// One reading of such a list: the children, then the node of each, or of the first of them up to a number.
class contender_list final : public request_of_several<std::vector<contender>> {
public:
    static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

    /// `gone` is told of each node that turned out not to exist.
    contender_list(session&, std::string path, std::function<void(const std::string& node)> gone, done_function,
                   list_kind what, std::size_t most = all);

    [[nodiscard]] bool has_more() const noexcept override;

private:
    void restart() override;
    void send() override;
    [[nodiscard]] bool reads() const noexcept override { return true; }
    void read();
    void finish() override;

    const std::string path_;
    const std::function<void(const std::string&)> gone_;
    const list_kind what_;
    const std::size_t most_;
    bool listing_ = false; ///< the children have been asked for
    children_in_order to_read_;
    std::vector<contender> found_;
};

} // namespace zklock::recipes
