#include "testing/named_ensembles.hpp"
#include "testing/memory_ensemble.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace zklock::testing {

namespace {

struct registry {
    std::mutex mutex; // guards all
    std::map<std::string, std::pair<const memory_ensemble*, std::weak_ptr<memory_ensemble>>, std::less<>> all;
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
    return found == all.end() ? nullptr : found->second.second.lock();
}

bool named_ensembles::add(const std::shared_ptr<memory_ensemble>& one)
{
    auto& [mutex, all] = of_process();
    const std::scoped_lock lock(mutex);
    return all.try_emplace(one->name(), one.get(), one).second;
}

void named_ensembles::remove(const memory_ensemble& one)
{
    auto& [mutex, all] = of_process();
    const std::scoped_lock lock(mutex);
    const auto found = all.find(one.name());
    if (found != all.end() && found->second.first == &one)
        all.erase(found);
}

std::size_t named_ensembles::count()
{
    auto& [mutex, all] = of_process();
    const std::scoped_lock lock(mutex);
    return all.size();
}

} // namespace zklock::testing
