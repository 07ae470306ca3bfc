#pragma once
#include "queue/contender.hpp"
#include "queue/node_name.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace zklock::queue {

/// The nodes that are known to stand in the queue, or to have stood there.
class places {
public:
    explicit places(name_rules names) : names_(std::move(names)) {}

    [[nodiscard]] const name_rules& names() const noexcept { return names_; }
    /// Live nodes that count: of others, and of ours that have not left.
    [[nodiscard]] const view& live() const noexcept { return live_; }
    [[nodiscard]] view& live() noexcept { return live_; }
    /// Nodes of ours that have left, until they are gone: nobody waits for them.
    [[nodiscard]] const view& left() const noexcept { return left_; }
    /// Nodes of others that were let go, until they are gone; with who was first granted over them, or 0.
    [[nodiscard]] const view& let_go() const noexcept { return let_go_; }
    [[nodiscard]] view& let_go() noexcept { return let_go_; }
    [[nodiscard]] place_name name_of(std::string_view node) const
    {
        return {names_.sequence_of(node).value_or(0), node};
    }
    [[nodiscard]] view::const_iterator find(std::string_view node) const { return live_.find(name_of(node)); }
    [[nodiscard]] bool is_anothers(std::string_view node) const;
    /// It counts no more, though lists may still show it.
    [[nodiscard]] bool counts_no_more(const place_name& node) const
    {
        return left_.contains(node) || let_go_.contains(node);
    }

    /// The contender's create gave it that node.
    void give(contender&, std::string_view node, std::int32_t sequence);
    /// The contender leaves.
    void leave(contender& c) { c.spot = left_.insert(live_.extract(c.spot)).position; }
    /// A node of ours is gone, which `left` or not.
    void gone(view::iterator place, bool left) { spare_ = (left ? left_ : live_).extract(place); }
    /// A writer of ours has become the reader of that name.
    void rename_as_reader(contender&, std::string reader);
    /// Its client has let it go.
    void let_go_of(view::iterator anothers) { let_go_.insert(live_.extract(anothers)); }
    void clear() noexcept;

    /// Whether nodes that were let go stand before it, and would be in its way if they counted.
    [[nodiscard]] bool stands_over_let_go(const contender&) const;
    /// The contender was granted. Says whether it is the first over a node that was let go.
    bool pass_over(const contender&);
    /// How many nodes that were let go, and not seen gone yet, a contender was granted over.
    [[nodiscard]] std::size_t passed_over() const noexcept;
    /// The nearest of those that this one was the first to be granted over; empty if there are none.
    [[nodiscard]] std::string_view passed_over_by(contender_id) const noexcept;

private:
    view live_;
    view::node_type spare_; ///< of the last node of ours that has gone: memory for the next
    view left_;
    view let_go_;
    const name_rules names_;
};

} // namespace zklock::queue
