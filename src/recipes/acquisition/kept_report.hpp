#pragma once
#include "zklock/wait_report.hpp"

#include <memory>
#include <utility>

namespace zklock::recipes {

/// What a wait was for that has timed out. It is kept until it is told, and told once.
class kept_report {
public:
    void keep(wait_report told) { report_ = std::make_unique<wait_report>(std::move(told)); }
    /// What was kept, or else what there is to tell now.
    template <class Describe> [[nodiscard]] wait_report tell(Describe describe)
    {
        return report_ ? std::move(*std::exchange(report_, nullptr)) : describe();
    }

private:
    std::unique_ptr<wait_report> report_;
};

} // namespace zklock::recipes
