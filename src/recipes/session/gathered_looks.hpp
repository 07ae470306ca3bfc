#pragma once
#include "recipes/session/error_mapping.hpp"
#include "recipes/session/session.hpp"
#include "store/store.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace zklock::recipes {

/// Those who look once at a path's children. One list at a time serves all who came before it was sent: so no number of
/// them has more than one under way, and what each of them sees is younger than its call.
template <class Looker> class gathered_looks {
public:
    /// True if a list is to be sent now: none is under way.
    [[nodiscard]] bool add(Looker one)
    {
        waiting_.push_back(std::move(one));
        return !under_way_;
    }
    /// A list was sent.
    void sent() noexcept
    {
        served_ = std::exchange(waiting_, {});
        under_way_ = true;
    }
    /// It was answered, or never will be: calls `serve` for each whom it serves, or `fail` if the answer is of no use.
    /// For those who have come meanwhile, `send` sends the next list; without a connection, `fail` is called for each
    /// of them. `grants`: the catching up that went before the list; see catch_up::behind_handoffs().
    template <class Serve, class Send, class Fail>
    void answered(session& s, store::outcome result, std::uint64_t grants, const Serve& serve, const Send& send,
                  const Fail& fail)
    {
        under_way_ = false;
        for (const Looker& each : std::exchange(served_, {}))
            if (result == store::outcome::ok && s.catch_up().behind_handoffs(grants))
                fail(*each, s.catch_up().refusal());
            else if (result != store::outcome::ok && result != store::outcome::no_node)
                fail(*each, error_of(result));
            else
                serve(*each);
        if (!s.connected())
            for (const Looker& each : std::exchange(waiting_, {}))
                fail(*each, errc::not_connected);
        else if (!waiting_.empty())
            send();
    }

private:
    std::vector<Looker> waiting_;
    std::vector<Looker> served_; ///< by the list that is under way
    bool under_way_ = false;
};

} // namespace zklock::recipes
