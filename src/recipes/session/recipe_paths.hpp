#pragma once
#include "recipes/session/recipe_path.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zklock::recipes {

/// The paths at which a recipe is at work, and those that are kept for a while when nobody uses them any more, because
/// what is known of them saves the next user requests.
template <class Path> class recipe_paths {
public:
    explicit recipe_paths(session& s) : resting_(s, most_resting) {}
    recipe_paths& operator=(recipe_paths&&) = delete;

    /// The path; null if nothing is known of it.
    [[nodiscard]] Path* find(const std::string& path) const
    {
        const auto found = paths_.find(path);
        return found == paths_.end() ? nullptr : found->second.get();
    }

    /// The path for one who has those options. `known`: what find() gives. Null: others use it with other options. One
    /// that is idle gives way to its successor, also while its container is being deleted: that is made again. So does
    /// one that only takes its nodes back, or makes the path for nobody: to the successor its nodes are as another
    /// client's, which it waits for.
    /// `make(idle)` makes one with those options, which calls `idle` when nobody needs it any more.
    template <class Options, class Make>
    Path* get(const std::string& path, Path* known, const Options& options, Make make)
    {
        if (known && known->options() == options)
            return known;
        if (known && !known->idle() && !known->only_leaving())
            return nullptr;
        std::unique_ptr<Path> fresh = make([this, path] { rests(path); });
        std::unique_ptr<Path>& entry = paths_[path];
        if (known) {
            fresh->take_containers(*known);
            known->give_up_lingering();
        }
        std::swap(entry, fresh); // the new one hears of the watch that the old one leaves
        if (known && (!known->idle() || known->next_making().made->any())) {
            leaving_.push_back(std::move(fresh));
            known->retire();
        } else if (known) {
            known->give_way();
        }
        return entry.get();
    }

private:
    static constexpr std::size_t most_resting = 4096;

    void rests(const std::string& path)
    {
        std::erase_if(leaving_, [](const auto& p) {
            if (p->finished())
                p->give_way();
            return p->finished();
        });
        for (const auto& p : leaving_) {
            p->wake();
            if (!p->idle())
                continue;
            if (Path* const successor = find(p->path()))
                successor->take_containers(*p); // they were being made when it took over
            resting_.add(*p);                   // an answer was lost, or refused: it is retired once more
        }
        const auto found = paths_.find(path);
        if (found == paths_.end())
            return;
        found->second->wake(); // when it is idle the next time, it tells again
        if (found->second->finished()) {
            found->second->give_way();
            paths_.erase(found);
        } else if (found->second->idle()) {
            resting_.add(*found->second);
        }
    }

    resting_paths resting_;
    std::unordered_map<std::string, std::unique_ptr<Path>> paths_;
    /// Paths that others have replaced, until their nodes are gone, and the containers that they have made elsewhere.
    std::vector<std::unique_ptr<Path>> leaving_;
};

} // namespace zklock::recipes
