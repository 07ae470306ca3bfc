#pragma once
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
    /// It was answered, or never will be. Gives those whom it serves.
    [[nodiscard]] std::vector<Looker> answered() noexcept
    {
        under_way_ = false;
        return std::exchange(served_, {});
    }
    /// Whether others have come meanwhile, who need the next one.
    [[nodiscard]] bool due() const noexcept { return !waiting_.empty(); }
    /// Gives those: there is no connection any more.
    [[nodiscard]] std::vector<Looker> left_over() noexcept { return std::exchange(waiting_, {}); }
    /// Nobody knows what is under way, and all have been told.
    void distrust() noexcept
    {
        waiting_.clear();
        served_.clear();
        under_way_ = false;
    }

private:
    std::vector<Looker> waiting_;
    std::vector<Looker> served_; ///< by the list that is under way
    bool under_way_ = false;
};

} // namespace zklock::recipes
