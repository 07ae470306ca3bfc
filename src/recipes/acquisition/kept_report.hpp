#pragma once
#include "recipes/acquisition/acquisition.hpp"

#include <memory>
#include <utility>

namespace zklock::recipes {

/// What a wait was for that has timed out. It is kept until it is told, and told once.
class kept_report {
public:
    /// Nothing is kept if it cannot be told, for lack of memory, say.
    template <class Describe> void keep(Describe describe)
    {
        try {
            report_ = std::make_unique<known_wait>(describe());
        } catch (...) { // NOLINT: its caller hears less
        }
    }
    /// What was kept, or else what there is to tell now.
    template <class Describe> [[nodiscard]] known_wait tell(Describe describe)
    {
        return report_ ? std::move(*std::exchange(report_, nullptr)) : describe();
    }
    /// What is kept says that others kept it waiting.
    [[nodiscard]] bool names_others() const noexcept { return report_ && report_->others; }

private:
    std::unique_ptr<known_wait> report_;
};

} // namespace zklock::recipes
