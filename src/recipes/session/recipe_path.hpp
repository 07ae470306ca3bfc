#pragma once
#include "recipes/session/idle_containers.hpp"
#include "recipes/session/parent_maker.hpp"
#include "recipes/session/session.hpp"
#include "recipes/session/session_member.hpp"
#include "store/scheduler.hpp"
#include "zklock/client_options.hpp"
#include "zklock/errc.hpp"

#include <boost/intrusive/list_hook.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zklock::recipes {

class resting_paths;

/// What a recipe does at one path. It stays for a while when nobody uses it any more, because what it knows saves the
/// next user requests. Before it goes, the containers that this client has made for it are deleted, as far as they are
/// empty: servers clear away so few in a second that those of a path for each order, say, would pile up.
class recipe_path : public session_member, public boost::intrusive::list_base_hook<> {
public:
    ~recipe_path() override;

    /// As its users name it.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    /// Nobody uses it, and it waits for no answer.
    [[nodiscard]] virtual bool idle() const noexcept = 0;
    /// It is idle, and nothing is left here or on the servers that is worth keeping, or would have to be taken back.
    [[nodiscard]] virtual bool finished() const noexcept = 0;
    /// Nobody has used it for long: takes back what it has left on the servers. Then it is finished and tells that it
    /// is idle, unless it was used meanwhile.
    void retire();
    /// It goes next, while the session goes on: it listens no more, and watches are taken back that nobody has a use
    /// for then. (What goes with the session takes nothing back.)
    virtual void give_way() {}
    /// Takes over the containers that another one has made for the same path.
    void take_containers(recipe_path& from) { parents_.made.take(from.parents_.made); }
    /// Another one follows it at the same path: what it keeps for its own users goes.
    virtual void give_up_lingering() {}
    /// What it has made above its path.
    [[nodiscard]] made_containers upper_containers() const { return parents_.made.upper(); }
    /// This client has set the data of the node so many levels above its path.
    void written_above(std::size_t level, const store::node_stat& stat) noexcept { parents_.made.written(level, stat); }
    /// That it is idle is to be told once more.
    void wake() noexcept { idle_told_ = false; }

    // --- called by idle_containers -----------------------------------------------------------------------------------

    /// Where it makes containers, and which it has made there.
    struct making {
        std::string_view path;
        made_containers* made;
    };
    /// The first of those places where it has made any; or one of the others.
    [[nodiscard]] virtual making next_making() noexcept { return {own_path(), &parents_.made}; }
    /// Whether the containers are to be deleted now: it is idle, and was not used since it was retired.
    [[nodiscard]] bool leaves() const noexcept { return idle() && !used_; }
    /// Hears what became of the first container of a place; `unknown`: nothing did.
    void on_container_removed(made_containers& made, const made_container& which, store::outcome);
    /// The servers may clear them away.
    void leave_containers();

protected:
    recipe_path(session& s, std::string path, std::function<void()> idle)
        : session_(s), path_(std::move(path)), parents_(s), on_idle_(std::move(idle))
    {
    }

    /// As long as an answer is due, it has to stay.
    [[nodiscard]] bool answers_due() const noexcept { return answers_due_ + waits_ != 0; }
    /// An answer is due that does not come by way of expect(); answer_came() is called when it has come.
    void answer_due() noexcept { ++answers_due_; }
    void answer_came() noexcept { --answers_due_; }
    /// Wraps the function that takes an answer.
    template <class F> [[nodiscard]] auto expect(F f)
    {
        answer_due();
        return [this, f = std::move(f)](const auto& answer) {
            answer_came();
            if (answer.result == store::outcome::unknown)
                session_.contact_lost();
            f(answer);
            advance();
        };
    }
    /// Calls `f` after a second: for requests that the server has refused, and may not refuse for ever.
    void after_a_while(std::function<void()> f)
    {
        constexpr std::chrono::seconds before_next_attempt{1};
        session_.news().later(before_next_attempt, [this, f = std::move(f)] {
            --waits_;
            f();
            advance();
        });
        ++waits_;
    }

    /// Where its nodes are.
    [[nodiscard]] virtual const std::string& own_path() const noexcept { return path_; }
    /// Has the maker make a path of the recipe, which a request has not found.
    void make_path(parent_maker&, const std::string& path, parent_kind, const std::optional<access_list>&);
    /// That was answered: with a refusal, or not.
    virtual void path_answered(std::optional<errc> refusal) = 0;
    /// The path itself is gone, or even what was above it.
    virtual void own_path_gone() = 0;
    /// Takes back what is left besides containers, and advances.
    virtual void retire_the_rest() = 0;
    [[nodiscard]] bool retired() const noexcept { return retired_; }
    void use() noexcept
    {
        used_ = true;
        retired_ = false;
    }
    /// Calls `idle`, later, if it is idle, and that was not told.
    void tell_if_idle();

    session& session_;
    const std::string path_;
    parent_maker parents_;

private:
    friend class resting_paths;
    friend class idle_containers;
    enum class place : std::uint8_t {
        nowhere,
        resting, ///< in the list of those that are kept for a while; `idle` is not called meanwhile
        leaving, ///< in the line of those whose containers are to be deleted; nor here
        removing ///< one of them is being looked at, or deleted; nor here
    };

    const std::function<void()> on_idle_;
    std::size_t answers_due_ = 0;
    std::size_t waits_ = 0; ///< that have not ended
    resting_paths* rests_with_ = nullptr;
    place place_ = place::nowhere;
    bool used_ = false; ///< since it was looked at last, or retired
    bool retired_ = false;
    bool idle_told_ = false;
};

/// The idle members of a kind. Each is retired when it has not been used from one look to the next, half a session's
/// time later; the one that has rested longest also when there are too many.
class resting_paths {
public:
    resting_paths(session& s, std::size_t most) : session_(s), most_(most) {}
    ~resting_paths();
    resting_paths& operator=(resting_paths&&) = delete;

    void add(recipe_path&);
    void forget(recipe_path&) noexcept;

private:
    void look_at_first(bool spare_used);
    void plan_look();

    session& session_;
    const std::size_t most_;
    line_of_paths members_;
    store::scheduler::timer_id timer_ = 0;
};

} // namespace zklock::recipes
