#pragma once
#include "bridge/peers/frames.hpp"
#include "bridge/peers/link.hpp"
#include "bridge/peers/token_bucket.hpp"
#include "store/peers.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>

namespace zklock::bridge::peering {

/// Whose the connections to other clients are.
class links_owner {
public:
    /// What is under way keeps it in memory.
    [[nodiscard]] virtual std::shared_ptr<void> keep() = 0;
    /// It is not stopped, and this process's.
    [[nodiscard]] virtual bool alive() const noexcept = 0;
    [[nodiscard]] virtual std::shared_ptr<link> make_link(link::events) = 0;
    /// Something is to be sent at the end of a turn.
    virtual void finish_turn_later() = 0;
    /// There is a connection more that may be silent.
    virtual void look_at_all_later() noexcept = 0;
    [[nodiscard]] virtual store::peers_observer& observer() const noexcept = 0;

protected:
    ~links_owner() = default;
};

/// A connection, and what is said over it.
template <class Says> struct linked {
    std::shared_ptr<link> to;
    Says says;
    bool to_flush = false; ///< it is in line
};

/// All connections of one kind, each found by a key, and those in line that have something to send. Each is of a type
/// that derives from `linked`.
template <class Key, class Linked> class links {
public:
    [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

    /// Sends what the first in line have to send, to `left` of them at most, and counts those off.
    void flush_some(int& left)
    {
        for (; left > 0 && !to_flush_.empty(); --left) {
            const Key key = to_flush_.front();
            to_flush_.pop_front();
            const auto found = all_.find(key);
            if (found == all_.end())
                continue;
            found->second.to_flush = false;
            if (!found->second.to->flush())
                drop(key);
        }
    }
    [[nodiscard]] bool all_flushed() const noexcept { return to_flush_.empty(); }

    /// When they are to be looked at, if nothing comes.
    [[nodiscard]] time_point due() const
    {
        auto first = time_point::max();
        for (const auto& [key, each] : all_)
            first = std::min(first, each.says.due());
        return first;
    }
    void time_passed(time_point now)
    {
        for (auto next = all_.begin(); next != all_.end();) {
            const auto each = next++;
            if (each->second.says.time_passed(now) == verdict::hang_up)
                hang_up(each->first);
        }
    }

    /// See link::close().
    void stop(bool to_parent) noexcept
    {
        for (auto& [key, each] : all_)
            each.to->close(to_parent);
        all_.clear();
    }

protected:
    explicit links(links_owner& whose) : owner_(whose) {}
    ~links() = default;

    [[nodiscard]] links_owner& owner() const noexcept { return owner_; }
    [[nodiscard]] std::map<Key, Linked>& all() noexcept { return all_; }

    /// A new connection, which is not among the others yet.
    [[nodiscard]] std::shared_ptr<link> make_link(const Key& key)
    {
        const std::weak_ptr<links> weak = std::shared_ptr<links>(owner_.keep(), this);
        return owner_.make_link({[weak, key](bytes in) {
                                     if (const auto self = weak.lock())
                                         self->came(key, in);
                                 },
                                 [weak, key] {
                                     if (const auto self = weak.lock())
                                         self->drop(key);
                                 }});
    }
    void flush_soon(const Key& key, Linked& one)
    {
        if (one.to_flush)
            return;
        to_flush_.push_back(key);
        one.to_flush = true;
        owner_.finish_turn_later();
    }

private:
    virtual void came(Key, bytes) = 0; // a copy: the key may go with the connection
    /// Closes and forgets that connection. Harmless if it is not there any more.
    virtual void drop(const Key&) = 0;
    /// It has been silent for too long.
    virtual void hang_up(const Key& key) { drop(key); }

    links_owner& owner_;
    std::map<Key, Linked> all_;
    std::deque<Key> to_flush_;
};

} // namespace zklock::bridge::peering
