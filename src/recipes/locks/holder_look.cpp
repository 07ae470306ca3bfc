#include "recipes/locks/holder_look.hpp"

#include "queue/node_path.hpp"
#include "recipes/session/node_owner.hpp"

#include <utility>

namespace zklock::recipes {

using store::outcome;

holder_look::holder_look(session& s, std::string path, std::string child, chooser choose, queue::name_rules rules)
    : request_of_several<>(s, if_lost::asked_again, [](error_code) {}), path_(std::move(path)),
      choose_(std::move(choose)), rules_(std::move(rules)), given_(std::move(child))
{
}

void holder_look::restart()
{
    asked_ = is_gone_ = false;
    child_ = given_;
    listed_.clear();
}

void holder_look::send()
{
    if (child_.empty()) {
        is_gone_ = false;
        session_.store.children(path_, false,
                                one_answered(
                                    [this](const store::children_reply& answer) {
                                        if (answer.result != outcome::ok)
                                            return;
                                        listed_ = *answer.names;
                                        child_ = choose_(listed_);
                                    },
                                    request_line::weight_of_list));
        return;
    }
    session_.store.get(queue::child_of(path_, child_), false, one_answered([this](const store::get_reply& answer) {
                           if (answer.result == outcome::ok)
                               found_ = contender_as_read(session_, queue::child_of(path_, child_),
                                                          rules_.parse(child_), answer);
                           if (answer.result != outcome::no_node || child_ != given_ || !listed_.empty())
                               return;
                           is_gone_ = true;
                           asked_ = false;
                           child_.clear();
                       }));
    asked_ = true;
}

// --- the last --------------------------------------------------------------------------------------------------------

void last_holder_look::begin(session& s, std::shared_ptr<holder_look> look)
{
    forget();
    look_ = std::move(look);
    began_ = s.scheduler.now();
    s.requests().enter(look_);
}

void last_holder_look::epoch_ended() noexcept
{
    if (look_ && !look_->found())
        forget();
}

void last_holder_look::forget() noexcept
{
    if (look_)
        look_->withdraw();
    look_.reset();
}

} // namespace zklock::recipes
