#pragma once
#include "bridge/peers/frames.hpp"
#include "bridge/peers/offers.hpp"
#include "bridge/peers/token_bucket.hpp"

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <boost/circular_buffer.hpp>

namespace zklock::bridge::peering {

/// A connection that somebody has made to us, without its socket: what it says, how long it may be silent, and what it
/// is told.
class inbound {
public:
    static constexpr std::chrono::seconds first_wish_within{1};
    static constexpr std::chrono::seconds idle_for{90}; ///< longer than the other end is idle before it hangs up
    /// Wishes that lead to nothing: for nodes that are not ours, or a second time. Those that withdraw one count, too,
    /// and so does a read that brings no whole wish: each costs the client a turn.
    static constexpr int most_vain_wishes = 512;
    static constexpr std::chrono::milliseconds vain_wish_each{2};
    static constexpr int vain_with_each_answer = 4;
    /// Secrets that it is not told again. The other end keeps more (`recipes::handoffs`); what it does not keep, it
    /// hears from the servers.
    static constexpr std::size_t remembered = 16;

    /// Greets: `out` is what leaves.
    inbound(offers& all, offers::peer_id self, time_point now, std::string& out);

    /// Takes what came. What it is told at once is put behind `out`, and nodes that somebody waits for now behind
    /// `awaited`.
    [[nodiscard]] verdict receive(bytes in, time_point now, std::string& out, std::vector<node_id>& awaited);

    /// A node that it waited for is on offer no more. What it says of that node from now on may have been on its way.
    void answered() noexcept { vain_.give_back(vain_with_each_answer); }

    /// Puts the last of the secrets behind `out`, and before it those of the others that it has not been told of late.
    void tell(std::span<const store::node_secret>, std::string& out);

    /// When it is to be looked at, if nothing comes.
    [[nodiscard]] time_point due() const noexcept { return due_; }
    [[nodiscard]] verdict time_passed(time_point now);
    /// It has wished for a node of ours.
    [[nodiscard]] bool is_useful() const noexcept { return useful_; }

private:
    [[nodiscard]] verdict take(const wish_frame&, time_point now, std::string& out, std::vector<node_id>& awaited);
    [[nodiscard]] verdict vain(time_point now) noexcept;

    offers& all_;
    const offers::peer_id self_;
    frame_reader<wish_frame> reader_;
    token_bucket vain_{most_vain_wishes, vain_wish_each};
    time_point due_;
    bool useful_ = false;
    boost::circular_buffer<store::node_secret> last_told_{remembered};
};

} // namespace zklock::bridge::peering
