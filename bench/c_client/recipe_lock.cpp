#include "c_client/recipe_lock.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::bench {

namespace {

std::string_view sequence(std::string_view name)
{
    return name.substr(name.rfind('-') + 1);
}

} // namespace

recipe_lock::recipe_lock(session& s, std::map<std::string, recipe_lock*>& watchers, std::string path)
    : session_(s), watchers_(watchers), path_(std::move(path))
{
    char prefix[32];
    const auto id = static_cast<unsigned long long>(zoo_client_id(s.handle())->client_id);
    std::snprintf(prefix, sizeof prefix, "x-%016llx-", id);
    prefix_ = prefix;
}

void recipe_lock::lock(std::function<void()> granted)
{
    granted_ = std::move(granted);
    look_for_parent();
}

void recipe_lock::unlock(std::function<void()> released)
{
    session_.remove(path_ + "/" + std::exchange(node_, {}), [released = std::move(released)](int code, const char*) {
        check(code, "delete");
        released();
    });
}

void recipe_lock::dispatch(std::map<std::string, recipe_lock*>& watchers, const char* path)
{
    const auto waiting = watchers.extract(path);
    if (!waiting.empty())
        waiting.mapped()->look_for_parent();
}

void recipe_lock::look_for_parent()
{
    session_.exists(path_, [this](int code, const Stat*) {
        check(code, "exists");
        look_for_own();
    });
}

void recipe_lock::look_for_own()
{
    session_.children(path_, [this](int code, const String_vector* names) {
        check(code, "get children");
        char** const end = names->data + names->count;
        char** const own =
            std::find_if(names->data, end, [this](std::string_view name) { return name.starts_with(prefix_); });
        if (own != end)
            node_ = *own;
        if (node_.empty())
            create_own();
        else
            find_predecessor();
    });
}

void recipe_lock::create_own()
{
    session_.create(path_ + "/" + prefix_, ZOO_EPHEMERAL | ZOO_SEQUENCE, [this](int code, const char* node) {
        check(code, "create");
        node_ = std::strrchr(node, '/') + 1;
        find_predecessor();
    });
}

void recipe_lock::find_predecessor()
{
    session_.children(path_, [this](int code, const String_vector* names) {
        check(code, "get children");
        std::vector<std::string_view> sorted(names->data, names->data + names->count);
        std::sort(sorted.begin(), sorted.end(), [](auto a, auto b) { return sequence(a) < sequence(b); });
        const auto own = std::find(sorted.begin(), sorted.end(), node_);
        if (own == sorted.begin())
            std::exchange(granted_, nullptr)();
        else
            watch(path_ + "/" + std::string(*(own - 1)));
    });
}

void recipe_lock::watch(const std::string& predecessor)
{
    session_.exists_and_watch(predecessor, [this, predecessor](int code, const Stat*) {
        if (code == ZNONODE) {
            look_for_parent();
            return;
        }
        check(code, "exists");
        watchers_[predecessor] = this;
    });
}

} // namespace zklock::bench
