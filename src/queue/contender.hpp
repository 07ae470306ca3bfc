#pragma once
#include "queue/lock_queue_action.hpp"
#include "queue/node_name.hpp"

#include <boost/intrusive/list.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace zklock::queue {

/// The place of a node that is looked for. The sequence number decides; the name only tells nodes apart to which others
/// gave the same number.
struct place_name {
    std::int32_t sequence;
    std::string_view node;
    friend std::strong_ordering operator<=>(const place_name& a, const place_name& b)
    {
        if (a.sequence != b.sequence)
            return a.sequence <=> b.sequence;
        return a.node <=> b.node;
    }
};
/// The place of a node in the queue.
struct place {
    std::int32_t sequence = 0;
    std::string node;
    contender_kind kind = contender_kind::mutex; ///< by its name
    [[nodiscard]] place_name name() const noexcept { return {sequence, node}; }
    friend bool operator==(const place& a, const place& b) { return std::is_eq(a <=> b); }
    friend std::strong_ordering operator<=>(const place& a, const place& b) { return a.name() <=> b.name(); }
    friend std::strong_ordering operator<=>(const place& a, const place_name& b) { return a.name() <=> b; }
};
/// Whether a node of that kind keeps one of the other out that stands behind it.
[[nodiscard]] inline bool excludes(contender_kind before, contender_kind kind) noexcept
{
    return !is_shared(kind) || !is_shared(before);
}
using view = std::map<place, contender_id, std::less<>>; ///< nodes; 0 for those of others

/// How far a contender of this client is.
enum class phase : std::uint8_t {
    wanted,      ///< has no node
    creating,    ///< its create was sent
    unknown,     ///< its create is lost: its node is to be looked for
    inspecting,  ///< found, and being read
    queued,      ///< has a node and waits
    held,        ///< has the lock
    downgrading, ///< has it as a writer until it is a reader
    lingering,   ///< has given it back, and its node waits for the next
    leaving      ///< its node is to be deleted
};

/// How far a downgrade is, which makes a reader's node of a writer's in one transaction.
enum class downgrade_state : std::uint8_t {
    unsent, ///< there is the writer's node, and none else
    sent,   ///< an answer will tell what its node is
    unknown ///< an answer will tell, once it is sent again
};

/// What lock_queue knows of one contender of this client. It is linked into the index of its phase, if that has one.
struct contender : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
    contender_id id = 0;
    phase now = phase::wanted;
    contender_kind kind = contender_kind::mutex;
    bool look_once = false;
    bool abandoned = false; ///< left while it was not known whether it has a node, or which
    bool covered = false;
    bool waited_for_another = false; ///< another client would be granted too, if our node were gone unseen
    bool holds_on = false;
    bool removing = false;
    bool parent_gone = false; ///< while it was downgrading: its number is none of the present parent's
    downgrade_state into_reader = downgrade_state::unsent;
    bool lingering_told = false;
    bool revoked = false;           ///< others want its node to go
    bool left_by_own_will = false;  ///< so others may be told that it is leaving
    bool token_known = false;       ///< the token of its node is known
    unsigned further_grants = 0;    ///< that its token can count
    unsigned cohort_left = 0;       ///< acquires of this client that may still use the node while others wait
    std::uint64_t create_stamp = 0; ///< of its create, when that was sent
    std::int64_t czxid = 0;         ///< of its node, once known
    std::string prefix;             ///< of its node's name, while creating or unknown
    view::iterator spot{};          ///< its node, once known

    /// Becomes a new one, in no index; but keeps the memory of the prefix.
    void reset() noexcept
    {
        std::string kept = std::move(prefix);
        kept.clear();
        *this = contender();
        prefix = std::move(kept);
    }
};
[[nodiscard]] inline const std::string& node_of(const contender& c)
{
    return c.spot->first.node;
}

struct by_id {
    bool operator()(const contender& a, const contender& b) const { return a.id < b.id; }
};
struct by_create_stamp {
    bool operator()(const contender& a, const contender& b) const { return a.create_stamp < b.create_stamp; }
};
struct by_sequence {
    bool operator()(const contender& a, const contender& b) const
    {
        const std::int32_t of_a = a.spot->first.sequence;
        const std::int32_t of_b = b.spot->first.sequence;
        return of_a != of_b ? of_a < of_b : a.id < b.id;
    }
};
/// The contenders in one phase, in that order; `counted` if it is asked how many they are. It is a list, because mostly
/// those that come are the last, and those that go are the first.
template <class Order, bool counted = false> class contender_index {
    using list = boost::intrusive::list<contender, boost::intrusive::constant_time_size<counted>>;

public:
    [[nodiscard]] auto begin() noexcept { return all_.begin(); }
    [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
    [[nodiscard]] auto end() noexcept { return all_.end(); }
    [[nodiscard]] auto end() const noexcept { return all_.end(); }
    [[nodiscard]] contender& last() noexcept { return all_.back(); }
    [[nodiscard]] const contender& last() const noexcept { return all_.back(); }
    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept
        requires counted
    {
        return all_.size();
    }

    /// Mostly it is the last one now, or the first; and where many come to stand in between, each stands behind the one
    /// that came before it. So the search begins there.
    void add(contender& c) noexcept
    {
        auto at = all_.end();
        if (!all_.empty() && Order{}(c, all_.back())) {
            at = Order{}(c, all_.front()) ? all_.begin() : all_.iterator_to(*near_);
            while (at != all_.begin() && Order{}(c, *std::prev(at)))
                --at;
            while (at != all_.end() && Order{}(*at, c))
                ++at;
        }
        all_.insert(at, c);
        near_ = &c;
    }
    void remove(contender& c) noexcept
    {
        const auto next = all_.erase(all_.iterator_to(c));
        if (near_ == &c && !all_.empty())
            near_ = next != all_.end() ? &*next : &all_.back();
    }

private:
    list all_;
    contender* near_ = nullptr; ///< the one that came last, or stood behind it; counts only if there is one
};

} // namespace zklock::queue
