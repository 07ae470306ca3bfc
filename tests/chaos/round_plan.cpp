#include "chaos/round_plan.hpp"

#include <algorithm>
#include <numeric>

namespace zklock::chaos {
namespace {

constexpr victim both_victims[]{victim::servers, victim::clients};
constexpr harm harms_due[]{harm::killed, harm::stopped};

} // namespace

round_plan::round_plan(std::vector<misfortune> all, std::optional<std::size_t> rounds, random_source& random)
    : all_(std::move(all)), random_(random)
{
    constexpr std::size_t dozen = 12, within_a_minute = 4;
    complete_after_ = std::max(std::size(harms_due), std::min(rounds.value_or(within_a_minute), dozen));
    std::vector<std::size_t> places(complete_after_);
    std::iota(places.begin(), places.end(), 0);
    for (const auto whom : both_victims) {
        std::shuffle(places.begin(), places.end(), random_);
        for (std::size_t i = 0; i < std::size(harms_due); ++i)
            if (!those_of(whom, harms_due[i]).empty()) // whoever chooses --nemeses may have left it out
                due_[{whom, places[i]}] = harms_due[i];
    }
}

std::vector<std::size_t> round_plan::next()
{
    const auto round = round_++;
    const auto kinds = draw(1, 3);
    std::vector<std::size_t> chosen;
    for (const auto whom : both_victims) {
        const auto due = due_.find({whom, round});
        const bool is_due = due != due_.end();
        const auto candidates = those_of(whom, is_due ? std::optional(due->second) : std::nullopt);
        const auto other = whom == victim::servers ? victim::clients : victim::servers;
        const bool comes = (kinds & (whom == victim::servers ? 1U : 2U)) != 0 || those_of(other, {}).empty();
        if (!candidates.empty() && (is_due || comes))
            chosen.push_back(candidates[draw(0, candidates.size() - 1)]);
    }
    return chosen;
}

std::size_t round_plan::draw(std::size_t least, std::size_t most)
{
    return std::uniform_int_distribution(least, most)(random_);
}

std::vector<std::size_t> round_plan::those_of(victim whom, std::optional<harm> how) const
{
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < all_.size(); ++i)
        if (all_[i].whom == whom && (!how || (all_[i].how == *how && all_[i].certain)))
            found.push_back(i);
    return found;
}

} // namespace zklock::chaos
