#include "recipes/locks/holder_look.hpp"

#include "queue/node_name.hpp"
#include "queue/node_path.hpp"
#include "recipes/session/node_owner.hpp"

#include <utility>

namespace zklock::recipes {

using store::outcome;

holder_look::holder_look(session& s, std::string path, std::string child, queue::name_rules rules)
    : request_of_several<>(s, if_lost::asked_again, [](error_code) {}), path_(std::move(path)), choose_(nullptr),
      rules_(std::move(rules)), child_(std::move(child))
{
}

holder_look::holder_look(session& s, std::string path, chooser choose)
    : request_of_several<>(s, if_lost::asked_again, [](error_code) {}), path_(std::move(path)), choose_(choose)
{
}

void holder_look::restart()
{
    asked_ = false;
    if (choose_ != nullptr)
        child_.clear();
}

void holder_look::send()
{
    if (child_.empty()) {
        session_.store.children(path_, false,
                                one_answered(
                                    [this](const store::children_reply& answer) {
                                        if (answer.result == outcome::ok)
                                            child_ = choose_(*answer.names);
                                    },
                                    request_line::weight_of_list));
        return;
    }
    session_.store.get(queue::child_of(path_, child_), false, one_answered([this](const store::get_reply& answer) {
                           if (answer.result == outcome::ok)
                               found_ = contender_as_read(session_, queue::child_of(path_, child_),
                                                          rules_.parse(child_), answer);
                       }));
    asked_ = true;
}

} // namespace zklock::recipes
