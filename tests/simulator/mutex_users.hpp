#pragma once
#include "users.hpp"

namespace zklock::simulator {

/// Users of mutexes; and what holds for them beyond what holds for the users of all recipes: strictly first come, first
/// served, within a client too.
class mutex_users : public acquisition_users {
public:
    explicit mutex_users(stage& s);

    void deleted_by_others(const std::string& node) override;
    void set_back() override;
    void check() override;

protected:
    static constexpr bool one_holds = true;

    std::shared_ptr<recipes::acquisition> start(client& c, use& u, recipes::acquire_call call) override
    {
        return c.locks->acquire({std::move(call), {path_of(u.paths.front()), options_of(u)}});
    }
    void check_lock(use& u, const held_lock& l, unsigned path) override;
    void check_loss(const use& u) override;

private:
    void check_order(const use& u, const held_lock& l);
    [[nodiscard]] bool waits_for_another(const use& u, const std::string& node) const;
    void check_waiting(unsigned path);

    bool only_silences_ = false; ///< all that goes wrong is that a client hears nothing of the servers for a while
    std::map<unsigned, instant> last_deleted_;            ///< by others, by path
    std::vector<std::string> deleted_waiting_;            ///< while their contenders waited for another client
    std::unordered_map<std::string, instant> free_to_go_; ///< since when nodes wait for certificates no more
};

} // namespace zklock::simulator
