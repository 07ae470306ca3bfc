#pragma once
// Names, the name servers that are asked about them, and what a client knows of them: for schedules of the connector.
#include "bridge/connection/connector.hpp"

#include <initializer_list>
#include <ranges>
#include <set>
#include <stdexcept>

namespace zklock::connecting {

using namespace std::chrono_literals;
using bridge::connector;
using clock = connector::clock;
using time_point = clock::time_point;
using duration = clock::duration;
using addresses = std::set<std::string>;

/// A rule that was broken.
struct violation : std::logic_error {
    using std::logic_error::logic_error;
};

inline void demand(bool holds, const char* rule)
{
    if (!holds)
        throw violation(rule);
}

/// What is left to chance.
class dice {
public:
    explicit dice(unsigned seed) : random_(seed) {}

    int below(int n) { return std::uniform_int_distribution<>(0, n - 1)(random_); }
    bool one_in(int n) { return below(n) == 0; }
    template <class T> T pick(std::initializer_list<T> from)
    {
        return from.begin()[below(static_cast<int>(from.size()))];
    }
    addresses some(const addresses& of)
    {
        addresses found;
        for (const auto& each : of)
            if (one_in(2))
                found.insert(each);
        return found;
    }

private:
    std::mt19937 random_;
};

/// Names, and all questions that a client has asked about each. It asks as `bridge::host_resolver` does.
class names_world {
public:
    /// What who asks for a name is told.
    enum class manner : std::uint8_t { leads, unknown, fails, hangs };
    struct truth {
        manner how = manner::leads;
        addresses to{}; ///< where it leads
    };

    /// So many names lead to some of these addresses. The list may have some, too, and has all if there is no name.
    names_world(dice& by, addresses all, int names)
        : dice_(by), all_(std::move(all)), listed_(names == 0        ? all_
                                                   : dice_.one_in(2) ? dice_.some(all_)
                                                                     : addresses())
    {
        for (int n = 0; n != names; ++n)
            names_.push_back({"n" + std::to_string(n), {manner::leads, at_least_one()}, {}});
    }

    [[nodiscard]] bool none() const { return names_.empty(); }
    [[nodiscard]] const addresses& all() const { return all_; }

    // --- what happens to the names -----------------------------------------------------------------------------------

    void change(time_point now)
    {
        for (name& each : names_)
            if (dice_.one_in(3)) {
                each.now.how = static_cast<manner>(dice_.below(4));
                if (dice_.one_in(2))
                    each.now.to = at_least_one();
            }
        free_the_hung(now);
    }
    /// From now on names stay where they are, and are answered soon. Where list and names lead.
    [[nodiscard]] addresses settle(time_point now)
    {
        settled_ = true;
        addresses reached = listed_;
        for (name& each : names_) {
            each.now.how = manner::leads;
            if (dice_.one_in(2))
                each.now.to = at_least_one();
            reached.insert(each.now.to.begin(), each.now.to.end());
        }
        free_the_hung(now);
        return reached;
    }

    // --- the client asks ---------------------------------------------------------------------------------------------

    /// Begins a round: asks for each name that is not being looked up. Answers to questions from before `since` have
    /// the name asked again.
    void ask(time_point since, time_point now)
    {
        since_ = since;
        for (name& each : names_) {
            each.of_this_round = false;
            if (!each.open())
                ask(each, now);
        }
    }
    /// When the next answer comes; the end of time if there is none to come.
    [[nodiscard]] time_point due() const
    {
        time_point first = time_point::max();
        for (const name& each : names_)
            if (each.open())
                first = std::min(first, each.asked.back().due);
        return first;
    }
    /// It comes.
    void answer(time_point now)
    {
        for (name& each : names_)
            if (each.open() && each.asked.back().due <= now)
                return answer(each, now);
    }
    /// What the client is told then.
    [[nodiscard]] connector::names found() const
    {
        std::map<std::string, bridge::server_address> all;
        for (const auto& each : listed_) {
            all[each].text = each;
            all[each].given.push_back({each, 2181, true});
        }
        for (const name& each : names_)
            for (const auto& text : each.last_said()) {
                auto& made = all.try_emplace(text).first->second;
                const bool first = std::exchange(made.text, text).empty();
                made.given.push_back({each.host, 2181, false});
                made.asked = first ? each.last()->at : std::max(made.asked, each.last()->at);
                if (const auto since = each.in_vain_since())
                    made.unanswered_since = std::min(*since, made.unanswered_since.value_or(*since));
            }
        connector::names known;
        for (auto& [text, made] : all)
            known.addresses.push_back(std::make_shared<bridge::server_address>(std::move(made)));
        known.answers_due = std::ranges::any_of(names_, [](const name& n) { return n.open() && n.of_this_round; });
        known.complete = !any_open();
        return known;
    }

    // --- the judge ---------------------------------------------------------------------------------------------------

    // It goes by the questions and their answers, and by nothing that the connector has worked out.
    [[nodiscard]] bool any_open() const
    {
        return std::ranges::any_of(names_, [](const name& n) { return n.open(); });
    }
    /// No name leads anywhere, as far as is known, and the list has no address.
    [[nodiscard]] bool nowhere() const
    {
        return listed_.empty() && std::ranges::all_of(names_, [](const name& n) { return n.last_said().empty(); });
    }
    /// It is in the list, or a name was said to lead there last.
    [[nodiscard]] bool leads_to(const std::string& address) const
    {
        return listed_.contains(address) ||
               std::ranges::any_of(names_, [&](const name& n) { return n.last_said().contains(address); });
    }
    /// It is in the list, or a name was said to lead there last, in an answer to a question from then or later.
    [[nodiscard]] bool led_to_since(const std::string& address, std::optional<time_point> then) const
    {
        return listed_.contains(address) || std::ranges::any_of(names_, [&](const name& n) {
                   return n.last_said().contains(address) && (!then || n.last()->at >= *then);
               });
    }
    /// A name that led there has been asked in vain for two seconds, since it was said to.
    [[nodiscard]] bool cannot_be_asked(const std::string& address, time_point now) const
    {
        return std::ranges::any_of(names_, [&](const name& n) {
            const auto since = n.in_vain_since();
            return n.last_said().contains(address) && since && now >= *since + 2s;
        });
    }

private:
    struct question {
        time_point at;
        time_point due;
        std::optional<truth> kept; ///< a name server answers with that, of which it knew then
        enum class outcome : std::uint8_t { open, answered, in_vain } what = outcome::open;
        addresses said{};
    };
    struct name {
        std::string host;
        truth now;
        std::vector<question> asked;
        bool of_this_round = false; ///< the open question

        [[nodiscard]] bool open() const { return !asked.empty() && asked.back().what == question::outcome::open; }
        /// The last that was answered.
        [[nodiscard]] const question* last() const
        {
            for (const auto& each : std::views::reverse(asked))
                if (each.what == question::outcome::answered)
                    return &each;
            return nullptr;
        }
        [[nodiscard]] const addresses& last_said() const
        {
            static const addresses nothing;
            return last() ? last()->said : nothing;
        }
        /// When the first was asked after that one.
        [[nodiscard]] std::optional<time_point> in_vain_since() const
        {
            const question* const first = last() ? last() + 1 : asked.data();
            return first == asked.data() + asked.size() ? std::nullopt : std::optional(first->at);
        }
    };

    addresses at_least_one()
    {
        auto found = dice_.some(all_);
        found.insert(*std::next(all_.begin(), dice_.below(static_cast<int>(all_.size()))));
        return found;
    }
    duration soon() { return dice_.pick({0ms, 1ms, 30ms, 100ms}); }
    void ask(name& n, time_point now)
    {
        const auto kept = dice_.one_in(4) ? std::optional(n.now) : std::nullopt;
        const auto after = !settled_ && dice_.one_in(8) ? 1ms * dice_.below(3000) : soon();
        n.of_this_round = true;
        n.asked.push_back({now, (kept ? kept : n.now)->how == manner::hangs ? time_point::max() : now + after, kept});
    }
    void answer(name& n, time_point now)
    {
        question& q = n.asked.back();
        const truth is = q.kept ? *q.kept : n.now;
        if (is.how == manner::hangs) {
            q.due = time_point::max();
            return;
        }
        q.what = is.how == manner::fails ? question::outcome::in_vain : question::outcome::answered;
        if (is.how == manner::leads)
            q.said = is.to;
        if (q.at < since_)
            ask(n, now);
    }
    void free_the_hung(time_point now)
    {
        for (name& each : names_)
            if (each.open() && each.now.how != manner::hangs) {
                question& q = each.asked.back();
                q.kept.reset();
                if (q.due == time_point::max() || settled_)
                    q.due = now + soon();
            }
    }

    dice& dice_;
    const addresses all_;
    const addresses listed_;
    std::vector<name> names_;
    time_point since_ = time_point::min();
    bool settled_ = false;
};

} // namespace zklock::connecting
