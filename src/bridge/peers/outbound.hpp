#pragma once
#include "bridge/peers/frames.hpp"
#include "bridge/peers/token_bucket.hpp"

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace zklock::bridge::peering {

/// A connection that we make to somebody, without its socket. It is silent until the other end has greeted.
class outbound {
public:
    using commit = std::function<node_id(const store::node_secret&)>;
    struct proof {
        node_id of;
        store::node_secret secret;
        bool asked_for;
    };

    static constexpr std::chrono::seconds greeted_within{1}; ///< since the attempt to connect began
    static constexpr std::chrono::seconds idle_for{30};      ///< then it is hung up on
    static constexpr std::size_t most_wanted = most_subscriptions;
    /// Secrets of nodes that were not asked for, and reads that bring no whole secret: each secret that was asked for
    /// allows so many more.
    static constexpr int most_unasked = 1024;
    static constexpr std::chrono::milliseconds unasked_each{1};
    static constexpr int unasked_with_each = 16;

    outbound(commit commitment_to, time_point now)
        : commitment_to_(std::move(commitment_to)), due_(now + greeted_within)
    {
    }

    /// Says that the node is waited for, or will say so after the greeting: `out` is what leaves now.
    void want(const node_id& node, time_point now, std::string& out);
    void want_no_more(const node_id& node, time_point now, std::string& out);

    /// Takes what came, and puts what it proves behind `heard`.
    [[nodiscard]] verdict receive(bytes in, time_point now, std::string& out, std::vector<proof>& heard);

    [[nodiscard]] bool greeted() const noexcept { return of_greeting_ == greeting.size(); }
    /// Nothing is waited for.
    [[nodiscard]] bool idle() const noexcept { return wanted_.empty(); }
    /// When it is to be looked at, if nothing comes.
    [[nodiscard]] time_point due() const noexcept { return due_; }
    [[nodiscard]] verdict time_passed(time_point now);
    [[nodiscard]] time_point used_last() const noexcept { return used_last_; }

private:
    [[nodiscard]] verdict take_greeting(bytes& in);

    const commit commitment_to_;
    frame_reader<certificate_frame> reader_;
    std::set<node_id> wanted_; ///< no hash table: others choose what is in names
    node_id wanted_last_{};    ///< or before, if nothing is wanted any more
    token_bucket unasked_{most_unasked, unasked_each};
    std::size_t of_greeting_ = 0; ///< so many bytes of it have come
    time_point due_;
    time_point used_last_{};
};

} // namespace zklock::bridge::peering
