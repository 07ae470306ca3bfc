#include "recipes/parent_maker.hpp"

#include "queue/mutants.hpp"
#include "queue/node_path.hpp"

#include <utility>

namespace zklock::recipes {

void parent_maker::make(std::string path, parent_kind kind, std::function<void(store::outcome)> done)
{
    kind_ = kind == parent_kind::container ? store::node_kind::container : store::node_kind::persistent;
    done_ = std::move(done);
    containers_.clear();
    missing_.push_back(std::move(path));
    create_next();
}

void parent_maker::create_next()
{
    store_.create(missing_.back(), {}, kind_, [this](const store::create_reply& answer) {
        switch (answer.result) {
        case store::outcome::ok:
        case store::outcome::node_exists:
            if (ZKLOCK_MUTANT(parent_made_by_another_is_an_error) && answer.result != store::outcome::ok)
                return finish(store::outcome::server_error);
            if (answer.result == store::outcome::ok && kind_ == store::node_kind::container)
                containers_.push_back(missing_.back());
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
