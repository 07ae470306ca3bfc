#include "recipes/parent_maker.hpp"

#include "queue/mutants.hpp"
#include "queue/node_path.hpp"

#include <bit>
#include <utility>

namespace zklock::recipes {

std::size_t made_containers::lowest() const noexcept
{
    return static_cast<std::size_t>(std::countr_zero(levels_));
}

made_containers made_containers::upper() const noexcept
{
    made_containers all = *this;
    all.levels_ &= ~std::uint32_t{1};
    return all;
}

std::string_view made_containers::lowest_of(std::string_view path) const noexcept
{
    for (std::size_t up = lowest(); up != 0; --up)
        path = queue::parent_of(path);
    return path;
}

void parent_maker::make(std::string path, parent_kind kind, std::function<void(store::outcome)> done)
{
    kind_ = kind == parent_kind::container ? store::node_kind::container : store::node_kind::persistent;
    done_ = std::move(done);
    missing_.push_back(std::move(path));
    create_next();
}

void parent_maker::create_next()
{
    store_.create(missing_.back(), {}, kind_, [this](const store::create_reply& answer) {
        const bool lost = answer.result == store::outcome::unknown && !answer.undone &&
                          !ZKLOCK_MUTANT(container_of_a_lost_answer_stays);
        const bool made_by_us = answer.result == store::outcome::ok ||
                                (answer.result == store::outcome::node_exists &&
                                 ZKLOCK_MUTANT(container_of_others_deleted));
        if ((made_by_us || lost) && kind_ == store::node_kind::container)
            made.add(missing_.size() - 1);
        switch (answer.result) {
        case store::outcome::ok:
        case store::outcome::node_exists:
            if (ZKLOCK_MUTANT(parent_made_by_another_is_an_error) && answer.result != store::outcome::ok)
                return finish(store::outcome::server_error);
            missing_.pop_back();
            if (missing_.empty())
                return finish(store::outcome::ok);
            return create_next();
        case store::outcome::no_node: {
            std::string parent(queue::parent_of(missing_.back()));
            if (parent.empty())
                return finish(store::outcome::no_node);
            missing_.push_back(std::move(parent));
            return create_next();
        }
        case store::outcome::unimplemented:
            if (kind_ == store::node_kind::container) { // servers before 3.5
                kind_ = store::node_kind::persistent;
                return create_next();
            }
            return finish(answer.result);
        default: return finish(answer.result);
        }
    });
}

void parent_maker::finish(store::outcome result)
{
    missing_.clear();
    std::exchange(done_, nullptr)(result);
}

} // namespace zklock::recipes
