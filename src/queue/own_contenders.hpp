#pragma once
#include "queue/contender.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::queue {

/// The contenders of this client on one path: by their ids, and in order by their phases.
class own_contenders {
public:
    /// A new one wants a node. Its id is higher than that of any other.
    void add(contender_id, bool look_once, contender_kind);
    void put(contender&, phase);
    /// It leaves as soon as it is known what its node is.
    void abandon(contender&);
    /// Its create goes out again, and has that stamp now.
    void create_again(contender&, std::uint64_t stamp);
    void forget(contender&);

    /// None, if it is not known. The one that was looked for last is remembered: mostly it is asked for again.
    [[nodiscard]] const contender* find(contender_id) const;
    [[nodiscard]] contender* find(contender_id id) { return const_cast<contender*>(std::as_const(*this).find(id)); }
    [[nodiscard]] const contender& at(contender_id) const;
    [[nodiscard]] contender& at(contender_id id) { return const_cast<contender&>(std::as_const(*this).at(id)); }
    /// The contender if it is in that phase, or none.
    [[nodiscard]] contender* find_in(phase, contender_id);

    [[nodiscard]] const auto& all() const noexcept { return all_; }
    [[nodiscard]] auto& all() noexcept { return all_; }
    [[nodiscard]] const contender_index<by_id>& wanted() const noexcept { return wanted_; }
    [[nodiscard]] contender_index<by_id>& wanted() noexcept { return wanted_; }
    [[nodiscard]] const contender_index<by_create_stamp>& creating() const noexcept { return creating_; }
    [[nodiscard]] const contender_index<by_sequence>& queued() const noexcept { return queued_; }
    [[nodiscard]] contender_index<by_sequence>& queued() noexcept { return queued_; }
    [[nodiscard]] contender& first_queued() noexcept { return *queued_.begin(); }
    [[nodiscard]] const contender_index<by_id, true>& held() const noexcept { return held_; }
    [[nodiscard]] const contender_index<by_id>& unknown() const noexcept { return unknown_; }
    [[nodiscard]] contender_index<by_id>& unknown() noexcept { return unknown_; }
    [[nodiscard]] const contender_index<by_id>& downgrading() const noexcept { return downgrading_; }
    [[nodiscard]] contender_index<by_id>& downgrading() noexcept { return downgrading_; }
    /// The one whose node waits for the next, or null.
    [[nodiscard]] contender* lingering() const noexcept { return lingering_; }

    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
    [[nodiscard]] bool knows(contender_id id) const { return find(id) != nullptr; }
    [[nodiscard]] bool holds(contender_id) const; ///< the lock, also while it is downgraded
    /// The contenders that hold the lock now: one, or readers.
    [[nodiscard]] std::vector<contender_id> holders() const;
    /// One that excludes that kind holds, waits, or is about to: to one that looks once the lock is busy.
    [[nodiscard]] bool contended(contender_kind kind = contender_kind::mutex) const noexcept
    {
        const bool all_count = !is_shared(kind);
        return (all_count ? contending_ : contending_alone_) != 0;
    }
    /// Of those that have not left, how many hold, wait, or are about to; and how many have a node, or may have one.
    [[nodiscard]] std::size_t contending() const noexcept { return contending_; }
    [[nodiscard]] std::size_t with_node() const noexcept { return with_node_; }
    /// How many of the queued ones look once.
    [[nodiscard]] std::size_t looking_once() const noexcept { return looking_once_; }
    /// Those that look once and have no node yet.
    [[nodiscard]] std::vector<contender_id> looking_without_node() const;
    /// Whether the contender has a node now whose name begins with `prefix`.
    [[nodiscard]] bool stands_on(contender_id, std::string_view prefix) const;
    /// The node of a contender that has one.
    [[nodiscard]] const std::string& node(contender_id id) const { return node_of(at(id)); }
    /// Whether the node that the contender has is to be given up.
    [[nodiscard]] bool revoked(contender_id id) const { return at(id).revoked; }
    /// A writer goes on as a reader.
    void read_on(contender&);

private:
    template <class F> void in_index(phase, const F&);

    std::size_t contending_ = 0;
    std::size_t contending_alone_ = 0; ///< how many of them exclude readers
    std::size_t with_node_ = 0;
    std::size_t looking_once_ = 0;
    contender* lingering_ = nullptr;
    std::map<contender_id, contender> all_;     // outlives the indexes
    mutable const contender* recent_ = nullptr; ///< the last that was looked for
    contender_index<by_id> wanted_;
    contender_index<by_create_stamp> creating_;
    contender_index<by_sequence> queued_;
    contender_index<by_id, true> held_;
    contender_index<by_id> unknown_;
    contender_index<by_id> downgrading_;
    decltype(all_)::node_type spare_; ///< the last that was forgotten: memory for the next
};

} // namespace zklock::queue
