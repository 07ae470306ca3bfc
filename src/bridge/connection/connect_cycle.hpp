#pragma once
#include "bridge/names/server_address.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace zklock::bridge {

/// The addresses that are tried once each, in an order drawn by chance; which of them have been, and what became of
/// that. An address may have several names, and join the cycle or leave it on the way.
class connect_cycle {
public:
    /// Begins with these; or with those of the last cycle, if there are none.
    template <class Usable, class Random>
    void begin(const std::vector<address_ptr>& known, Usable usable, Random& random)
    {
        if (!known.empty())
            addresses_ = known;
        std::erase_if(addresses_, [&](const address_ptr& each) { return !usable(*each); });
        std::shuffle(addresses_.begin(), addresses_.end(), random);
        next_ = 0;
        begin_again();
    }
    /// The same addresses are to be tried once more, in this order.
    void begin_again() noexcept
    {
        attempts_ = insecure_ = refusals_ = 0;
        forget_what_was_said();
    }

    [[nodiscard]] std::size_t size() const noexcept { return addresses_.size(); }
    [[nodiscard]] bool empty() const noexcept { return addresses_.empty(); }
    [[nodiscard]] bool all_tried() const noexcept { return attempts_ >= addresses_.size(); }
    /// The address of the present or next attempt. There is one, unless the cycle is empty.
    [[nodiscard]] const address_ptr& present() const { return addresses_[next_ % addresses_.size()]; }
    /// One of its names.
    [[nodiscard]] const host_port& name() const { return present()->given[name_ % present()->given.size()]; }

    void attempt_begins() noexcept;
    /// The present address is tried by its next name, unless all were tried.
    [[nodiscard]] bool try_next_name() noexcept;
    /// The next attempt begins with another name.
    void skip_name() noexcept { ++name_; }
    /// The attempt has ended, or the connection. What comes next is the next address, or the same again.
    void go_on() noexcept;
    void repeat() noexcept { trying_ = false; }

    // What became of the attempt.
    void count_insecure() noexcept { ++insecure_; }
    void count_refusal() noexcept { ++refusals_; }
    void count_vote() { voters_.push_back(present()); }
    void disbelieve() { disbelieved_.push_back(present()); }
    /// Of the session.
    void forget_what_was_said() noexcept
    {
        disbelieved_.clear();
        voters_.clear();
    }
    /// All that were tried have failed by TLS.
    [[nodiscard]] bool all_insecure() const noexcept { return attempts_ != 0 && insecure_ == attempts_; }
    /// The credentials were refused, and nobody is left who might take them.
    [[nodiscard]] bool all_refused() const noexcept
    {
        return refusals_ != 0 && disbelieved_.empty() && voters_.empty();
    }

    /// More than half of the servers have voted, or would have with the present one. Nobody tells how many servers
    /// there are: behind a name, or names that share an address, as many as there are addresses of one family. (So one
    /// that is reached by two families counts once, though it may serve one of them only.)
    [[nodiscard]] bool vote_decides() const;

    /// An address that is there already may have a name more. It is tried again, if it was disbelieved and is confirmed
    /// now. True if there is one more to try.
    bool join(const address_ptr&, bool usable, bool confirmed);
    /// The present address stays.
    template <class Usable> void keep_if(Usable usable)
    {
        put_present_first();
        for (std::size_t place = addresses_.size(); place-- > in_use();)
            if (!usable(*addresses_[place]))
                leave(place);
    }

private:
    void leave(std::size_t place);
    void put_present_first();
    /// So many of the first addresses are being tried, or connected.
    [[nodiscard]] std::size_t in_use() const noexcept { return trying_ ? 1 : 0; }

    std::vector<address_ptr> addresses_;
    std::size_t next_ = 0;
    bool trying_ = false; ///< the next is under way, or connected
    std::size_t attempts_ = 0;
    std::size_t insecure_ = 0;    ///< of these, so many failed by TLS
    std::size_t refusals_ = 0;    ///< and so many, because the credentials were refused
    std::size_t name_ = 0;        ///< counted round
    std::size_t names_tried_ = 0; ///< in this attempt
    /// Whose servers have said that the session is over, before they were confirmed.
    std::vector<address_ptr> disbelieved_;
    std::vector<address_ptr> voters_;
};

} // namespace zklock::bridge
