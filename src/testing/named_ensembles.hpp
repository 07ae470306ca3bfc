#pragma once
#include <cstddef>
#include <memory>
#include <string_view>

namespace zklock::testing {

class memory_ensemble;

/// The ensembles of this process, by their names. From any thread.
class named_ensembles {
public:
    /// Null if there is none of that name.
    [[nodiscard]] static std::shared_ptr<memory_ensemble> find(std::string_view name);
    /// False if there is one of that name.
    [[nodiscard]] static bool add(memory_ensemble&);
    static void remove(const memory_ensemble&);
    [[nodiscard]] static std::size_t count();
};

} // namespace zklock::testing
