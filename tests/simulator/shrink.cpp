#include "shrink.hpp"

#include "simulation.hpp"

namespace zklock::simulator {

std::string kind_of(const std::string& violation)
{
    auto from = violation.find(": ");
    from = from == violation.npos ? 0 : from;
    std::string kind;
    for (const char c : violation.substr(from)) {
        if (c == ':' && !kind.empty() && kind.size() > 2)
            break;
        if (c < '0' || c > '9')
            kind += c;
    }
    return kind.substr(0, 40);
}

namespace {

class shrinker {
public:
    shrinker(plan p, std::chrono::milliseconds allowed)
        : best_(std::move(p)), kind_(kind_of(simulate(best_, false).violation)),
          until_(std::chrono::steady_clock::now() + allowed)
    {
    }

    plan run()
    {
        // What chance placed becomes part of the plan, so that it can be taken away piece by piece.
        auto planned = best_;
        planned.faults = simulate(best_, false).fired;
        keep_if_it_fails(std::move(planned));
        for (bool better = true; better && !late();) {
            better = leave_out_steps();
            if (best_.faults)
                better |= leave_out_faults();
            better |= simplify();
        }
        return std::move(best_);
    }

private:
    [[nodiscard]] bool late() const { return std::chrono::steady_clock::now() > until_; }

    bool keep_if_it_fails(plan candidate)
    {
        if (late())
            return false;
        const auto violation = simulate(candidate, false).violation;
        if (violation.empty() || kind_of(violation) != kind_)
            return false;
        best_ = std::move(candidate);
        return true;
    }

    /// Leaves out ever smaller parts of a list.
    template <class List> bool leave_out_of(const std::function<List&(plan&)>& list)
    {
        bool better = false;
        for (auto part = std::max<std::size_t>(list(best_).size() / 2, 1); part != 0; part /= 2) {
            for (std::size_t from = 0; from < list(best_).size();) {
                auto candidate = best_;
                auto& items = list(candidate);
                const auto begin = items.begin() + static_cast<std::ptrdiff_t>(from);
                const auto length = std::min(part, items.size() - from);
                items.erase(begin, begin + static_cast<std::ptrdiff_t>(length));
                if (keep_if_it_fails(std::move(candidate)))
                    better = true;
                else
                    from += part;
                if (late())
                    return better;
            }
        }
        return better;
    }

    bool leave_out_steps()
    {
        return leave_out_of<std::vector<step>>([](plan& p) -> std::vector<step>& { return p.steps; });
    }
    bool leave_out_faults()
    {
        return leave_out_of<std::vector<placed_fault>>([](plan& p) -> std::vector<placed_fault>& { return *p.faults; });
    }

    template <class T> bool try_value(T settings::*member, T value)
    {
        if (best_.set.*member == value)
            return false;
        auto candidate = best_;
        candidate.set.*member = std::move(value);
        return keep_if_it_fails(std::move(candidate));
    }

    bool simplify()
    {
        using std::chrono::microseconds;
        const settings usual;
        bool better = try_value(&settings::servers, 1u);
        better |= try_value(&settings::follower_lag, microseconds(0));
        better |= try_value(&settings::first_sequence, 0u);
        better |= try_value(&settings::scarce_from, usual.scarce_from);
        better |= try_value(&settings::parents_exist, true);
        better |= try_value(&settings::delay_spread, microseconds(0));
        better |= try_value(&settings::delay, microseconds(1'000));
        better |= try_value(&settings::leader_drift_ppm, 0);
        better |= try_value(&settings::node_budget, usual.node_budget);
        better |= try_value(&settings::expiry_rounded_up, false);
        better |= try_value(&settings::exists_needs_read, false);
        for (std::size_t i = 0; i < best_.steps.size() && !late(); ++i) {
            better |= try_step(i, [](step& s) { return std::exchange(s.withdraw_after, std::nullopt).has_value(); });
            better |= try_step(i, [](step& s) { return std::exchange(s.deadline, std::nullopt).has_value(); });
            better |= try_step(i, [](step& s) { return std::exchange(s.look_once, false); });
            better |= try_step(i, [](step& s) { return std::exchange(s.max_attempts, 0) != 0; });
            better |= try_step(i, [](step& s) { return std::exchange(s.other_options, false); });
        }
        for (unsigned used = best_.set.clients; used > 1; --used) {
            const bool needed = std::any_of(best_.steps.begin(), best_.steps.end(),
                                            [used](const step& s) { return s.who + 1 >= used; });
            if (needed || !try_value(&settings::clients, used - 1))
                break;
            better = true;
        }
        return better;
    }

    bool try_step(std::size_t i, const std::function<bool(step&)>& simpler)
    {
        auto candidate = best_;
        return simpler(candidate.steps[i]) && keep_if_it_fails(std::move(candidate));
    }

    plan best_;
    std::string kind_;
    std::chrono::steady_clock::time_point until_;
};

} // namespace

plan shrink(plan p, std::chrono::milliseconds time_allowed)
{
    return shrinker(std::move(p), time_allowed).run();
}

} // namespace zklock::simulator
