#include "testing/named_ensembles.hpp"
#include "testing/memory_ensemble.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace zklock::testing {

namespace {

struct registry {
    std::mutex mutex;                                         // guards all
    std::map<std::string, memory_ensemble*, std::less<>> all; ///< each takes itself out before it ends
};

registry& of_process()
{
    static registry one;
    return one;
}

} // namespace

std::shared_ptr<memory_ensemble> named_ensembles::find(std::string_view name)
{
    auto& [mutex, all] = of_process();
    const std::scoped_lock lock(mutex);
    const auto found = all.find(name);
    return found == all.end() ? nullptr : found->second->weak_from_this().lock();
}

bool named_ensembles::add(memory_ensemble& one)
{
    auto& [mutex, all] = of_process();
    const std::scoped_lock lock(mutex);
    return all.try_emplace(one.name(), &one).second;
}

void named_ensembles::remove(const memory_ensemble& one)
{
    auto& [mutex, all] = of_process();
    const std::scoped_lock lock(mutex);
    const auto found = all.find(one.name());
    if (found != all.end() && found->second == &one)
        all.erase(found);
}

std::size_t named_ensembles::count()
{
    auto& [mutex, all] = of_process();
    const std::scoped_lock lock(mutex);
    return all.size();
}

} // namespace zklock::testing
