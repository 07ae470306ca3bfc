#include "recipes/session/idle_containers.hpp"

#include "recipes/session/recipe_path.hpp"
#include "recipes/session/session.hpp"

#include <algorithm>
#include <utility>

namespace zklock::recipes {

using store::outcome;

namespace {

/// Those of more are left to the servers.
constexpr std::size_t most_waiting = 4096;

} // namespace

idle_containers::idle_containers(session& s) : session_part(s) {}
idle_containers::~idle_containers() = default;

void idle_containers::enter(recipe_path& member)
{
    member.place_ = recipe_path::place::leaving;
    waiting_.push_back(member);
    if (waiting_.size() > most_waiting) {
        recipe_path& oldest = waiting_.front();
        take_out(oldest);
        oldest.leave_containers();
    }
    proceed();
}

void idle_containers::take_out(recipe_path& member) noexcept
{
    waiting_.erase(waiting_.iterator_to(member));
    member.place_ = recipe_path::place::nowhere;
}

void idle_containers::forget(recipe_path& member) noexcept
{
    if (member.place_ == recipe_path::place::leaving)
        return take_out(member);
    for (removal& r : under_way_)
        if (r.member == &member)
            r.member = nullptr;
}

void idle_containers::proceed()
{
    if (waiting_.empty() || in_round_ || gathering_ || !session_.connected())
        return;
    session_.news().tell([this] {
        gathering_ = false;
        begin_round();
    });
    gathering_ = true;
}

void idle_containers::begin_round()
{
    if (!session_.connected() || in_round_)
        return;
    in_round_ = true;
    under_way_.reserve(most_together);
    while (under_way_.size() < together_ && !waiting_.empty()) {
        recipe_path& member = waiting_.front();
        const auto [path, made] = member.next_making();
        if (!member.leaves() || !made->any()) { // it was used meanwhile
            take_out(member);
            member.advance();
            continue;
        }
        const made_container& which = made->lowest();
        under_way_.push_back({&member, made, which, std::string(path_above(path, which.level))});
        take_out(member);
        member.place_ = recipe_path::place::removing;
    }
    if (under_way_.empty())
        return end_round();
    look();
}

/// The server may lag behind others' writes. One that it may not look at (servers from 3.8.4 and 3.9.2 on tell only
/// those who may read it) is left to the servers: somebody has taken that permission from the client that made it.
void idle_containers::look()
{
    looks_due_ = under_way_.size();
    session_.store.sync("/", [this](const store::reply& answer) {
        caught_up_ = answer.result == outcome::ok;
        session_.lease().heard(answer);
    });
    for (std::size_t i = 0; i != under_way_.size(); ++i)
        session_.store.exists(under_way_[i].node, false, [this, i](const store::stat_reply& answer) {
            if (answer.result == outcome::unknown)
                session_.contact_lost();
            on_look(under_way_[i], answer);
        });
}

void idle_containers::on_look(removal& r, const store::stat_reply& answer)
{
    r.found = caught_up_ ? answer.result : outcome::unknown;
    r.version = answer.stat.version;
    if (r.found == outcome::ok &&
        !r.which.may_go(answer.stat, session_.lost_containers().found(r.node, answer.stat.czxid)))
        r.found = outcome::not_empty;
    if (--looks_due_ == 0)
        on_looks();
}

void idle_containers::on_looks()
{
    const auto may_go = [this](const removal& r) {
        return session_.connected() && r.member && r.member->leaves() && r.found == outcome::ok;
    };
    const auto stay = std::stable_partition(under_way_.begin(), under_way_.end(), may_go);
    const auto going = static_cast<std::size_t>(stay - under_way_.begin());
    while (under_way_.size() != going) {
        const outcome found = under_way_.back().found;
        end_last(found == outcome::ok ? outcome::unknown : found);
    }
    if (under_way_.empty())
        return end_round();
    send();
}

void idle_containers::send()
{
    if (under_way_.size() == 1) {
        const removal& r = under_way_.front();
        return session_.store.remove(r.node, r.version, [this](const store::reply& answer) {
            session_.wrote(answer);
            on_answer(answer, 0);
        });
    }
    std::vector<store::batch_write> batch;
    batch.reserve(under_way_.size());
    for (const removal& r : under_way_)
        batch.push_back({.what = store::batch_write::kind::remove, .path = r.node, .version = r.version});
    session_.store.batch(batch, [this](const store::batch_reply& answer) {
        session_.wrote(answer);
        on_answer(answer, answer.failed);
    });
}

/// `failed`: which one the answer is about, if it is about one of them.
void idle_containers::on_answer(const store::reply& answer, std::size_t failed)
{
    const std::size_t sent = under_way_.size();
    const bool undone = sent > 1 && answer.result != outcome::ok && answer.result != outcome::unknown;
    if (undone)
        together_ = std::max<std::size_t>(1, failed < sent ? together_ / 4 : 1);
    else if (answer.result == outcome::ok)
        together_ = std::min(most_together, 2 * together_);
    while (!under_way_.empty()) {
        recipe_path* const member = under_way_.back().member;
        if (undone && under_way_.size() - 1 != failed) {
            under_way_.pop_back();
            if (member) {
                member->place_ = recipe_path::place::leaving;
                waiting_.push_front(*member);
            }
        } else {
            end_last(answer.result);
        }
    }
    end_round();
}

void idle_containers::end_last(outcome result)
{
    const removal r = std::move(under_way_.back());
    under_way_.pop_back();
    const bool gone = result == outcome::ok || result == outcome::no_node;
    if (gone || (r.which.czxid == 0 && result != outcome::unknown)) // or else it was about another one
        session_.lost_containers().forget(r.node);
    if (!r.member)
        return;
    r.member->place_ = recipe_path::place::nowhere;
    r.member->on_container_removed(*r.of, r.which, result);
}

void idle_containers::end_round()
{
    in_round_ = false;
    caught_up_ = false;
    proceed();
}

} // namespace zklock::recipes
