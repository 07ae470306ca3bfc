#pragma once
// A random schedule of the connector, in virtual time: servers of two ensembles, names that move, name servers that
// fail, and a machine that sleeps.
#include "connector/names_world.hpp"
#include "unit/connector_scene.hpp"

#include <deque>
#include <ostream>

namespace zklock::connecting {

/// Whatever servers and name servers do, the connector keeps to its limits, and to the rules of what is done where; and
/// when they work again, it is soon connected. play() throws a `violation` if it does not. What happens is told to
/// `trace`, if there is one.
class schedule {
public:
    explicit schedule(unsigned seed, std::ostream* trace = nullptr)
        : trace_(trace), dice_(seed), names_(dice_, addresses_up_to(5), dice_.below(4)),
          settings_{dice_.pick({1000ms, 4000ms, 12000ms, 40000ms}),
                    dice_.pick({10ms, 100ms, 2000ms}),
                    dice_.pick({500ms, 5000ms, 20000ms}),
                    !names_.none(),
                    dice_.pick({100ms, 2000ms}),
                    dice_.one_in(2) ? std::nullopt : std::optional(dice_.pick({50ms, 3000ms}))},
          shorter_(dice_.pick({1, 1, 2})), manners_(dice_.one_in(2) ? 6 : 5), connector_(settings_, seed, now_)
    {
        for (const auto& each : names_.all())
            servers_[each];
    }

    void play()
    {
        take(connector_.begin(now_));
        for (int n = 0; n < 300 && !refused_; ++n) {
            if (dice_.one_in(10))
                change_the_world();
            pass_time();
        }
        if (!refused_)
            come_back();
        close();
    }

private:
    using step = connector::step;
    using loss = connector::loss;
    using phase = connector::phase;
    using lease_time = lease_clock::time_point;

    enum class manner : std::uint8_t { serves, refuses, silent, drops, ends_sessions, wants_credentials };
    struct server {
        manner how = manner::serves;
        int ensemble = 0;
    };
    /// The client's session, as the servers know it.
    struct session {
        int ensemble;
        duration first_granted;
        duration granted;
        lease_time ends;
    };

    static constexpr std::chrono::milliseconds longest_latency{400};

    template <class... Words> void tell(const Words&... words)
    {
        if (!trace_)
            return;
        *trace_ << (now_ - time_point(1h)) / 1ms << " ms (slept " << connector_.slept / 1ms << "): ";
        (*trace_ << ... << words) << '\n';
    }

    // --- the world ---------------------------------------------------------------------------------------------------

    addresses addresses_up_to(int most)
    {
        addresses all;
        for (int n = dice_.below(most) + 1; n != 0; --n)
            all.insert("s" + std::to_string(n));
        return all;
    }

    [[nodiscard]] lease_time lease_now() const { return connector_.at(now_).lease; }

    void change_the_world()
    {
        for (auto& [name, s] : servers_) {
            if (dice_.one_in(2))
                s.how = static_cast<manner>(dice_.below(manners_));
            if (dice_.one_in(4))
                s.ensemble = dice_.below(2);
        }
        if (dice_.one_in(2))
            names_.change(now_);
        if (dice_.one_in(4))
            connector_.slept += 1s + dice_.below(3) * settings_.session_timeout;
        if (connector_.now_in() == phase::connected && servers_[present_].how != manner::serves)
            lose(loss::connection);
    }

    /// From now on all servers to which list and names lead are one ensemble, and serve.
    void come_back()
    {
        const auto reached = names_.settle(now_);
        for (auto& [name, s] : servers_)
            if (reached.contains(name))
                s = {};
        if (connector_.now_in() == phase::connected && dice_.one_in(2))
            lose(loss::connection);
        const auto latest = now_ + longest_until_connected();
        while (connector_.now_in() != phase::connected && !refused_) {
            demand(now_ <= latest, "when all is well again, the client is soon connected");
            pass_time();
        }
    }

    /// Attempts that began before, of servers that are silent; the rest of the pause; the names. Where names lead
    /// elsewhere now, that is known after the present cycle; another pause, if it is known too late for the next. And
    /// another pause, if a new session has to be asked for.
    [[nodiscard]] duration longest_until_connected() const
    {
        const duration attempt = settings_.session_timeout * 2 / 3;
        const duration pause = std::max(settings_.backoff, settings_.backoff_limit);
        const duration names = names_.none() ? 0ms : pause + 400ms + attempt * (servers_.size() - 1);
        const auto all = attempt + pause + 200ms + longest_latency + names;
        const bool lives = session_ && session_->ensemble == 0 && session_->ends > lease_now() + all;
        return lives ? all : all + pause;
    }

    // --- time --------------------------------------------------------------------------------------------------------

    void pass_time()
    {
        const auto due = connector_.due().value_or(time_point::max());
        const auto next = std::min({due, answer_due_, names_.due()});
        at_this_time_ = next <= now_ ? at_this_time_ + 1 : 0;
        demand(at_this_time_ <= 4 * static_cast<int>(servers_.size()) + 8, "it never spins");
        now_ = std::max(now_, next);
        if (names_.due() <= now_) {
            names_.answer(now_);
            tell_names();
        } else if (answer_due_ <= now_) {
            answer_due_ = time_point::max();
            connector_.now_in() == phase::connected ? live_on() : answer();
        } else {
            take(connector_.time_passed(now_));
        }
    }

    /// A connection is served, lost, or neither.
    void live_on()
    {
        if (dice_.one_in(2))
            connector_.served(now_);
        if (dice_.one_in(2))
            lose(dice_.one_in(4) ? loss::session : loss::connection);
        else
            answer_due_ = now_ + 1ms * dice_.below(20000);
    }

    // --- the judge ---------------------------------------------------------------------------------------------------

    /// The session should be over by the clock, or there is none.
    [[nodiscard]] bool should_be_over() const
    {
        if (!session_)
            return true;
        const auto margin = settings_.lease_margin ? duration(*settings_.lease_margin)
                                                   : std::max<duration>(session_->granted / 4, settings_.server_tick);
        return lease_now() >=
               lost_lease_ + std::max(session_->granted, session_->first_granted) + margin + settings_.server_tick;
    }
    [[nodiscard]] bool confirmed_by_answer(const std::string& address) const
    {
        return names_.led_to_since(address, lost_at_);
    }
    [[nodiscard]] bool confirmed(const std::string& address) const
    {
        return confirmed_by_answer(address) || (names_.cannot_be_asked(address, now_) && should_be_over());
    }
    /// Something may be tried there.
    [[nodiscard]] bool usable(const std::string& address) const
    {
        return session_ ? names_.leads_to(address) || names_.nowhere() : confirmed(address);
    }

    /// What the present attempt is for may be tried there, whatever the clock says.
    [[nodiscard]] addresses usable_for_certain() const
    {
        addresses found;
        for (const auto& each : names_.all())
            if (for_a_session_ ? names_.leads_to(each) : confirmed_by_answer(each))
                found.insert(each);
        return found;
    }

    void check_warning()
    {
        if (!connector_.take_unanswered())
            return;
        demand(!std::exchange(warned_, true), "one warning in a time without a connection is enough");
        demand(!confirmed_by_answer(present_) && confirmed(present_), "a warning has a reason");
    }
    void check_warned()
    {
        demand(warned_ || confirmed_by_answer(present_), "whoever is confirmed by the clock is warned of");
    }

    // --- what the connector wants ------------------------------------------------------------------------------------

    void take(step next)
    {
        if (next != step::attempt)
            check_warning();
        switch (next) {
        case step::wait: break;
        case step::resolve:
            demand(connector_.now_in() == phase::resolving, "a cycle begins with the names");
            begin_cycle();
            resolve();
            break;
        case step::attempt: begin_attempt(); break;
        case step::leave: lose(loss::connection); break;
        case step::end_attempt:
            demand(attempt_began_.has_value(), "what is given up is an attempt");
            demand(now_ - *attempt_began_ <= duration(settings_.session_timeout) * 2 / 3, "an attempt has a limit");
            lose(loss::connection);
            break;
        case step::finish: connector_.finished(); break;
        }
    }

    void begin_cycle()
    {
        tried_.clear();
        disbelieved_.clear();
        again_.clear();
        refusals_ = 0;
    }

    void resolve()
    {
        names_.ask(lost_at_.value_or(time_point::min()), now_);
        tell_names();
    }

    void tell_names()
    {
        const bool attempting = attempt_began_ && connector_.now_in() == phase::connecting;
        const auto known = names_.found();
        if (trace_) {
            std::string text;
            for (const auto& each : known.addresses)
                text += ' ' + each->text + (confirmed_by_answer(each->text) ? "!" : confirmed(each->text) ? "?" : "");
            tell("known are", text, known.answers_due ? "; due" : known.complete ? "" : "; late");
        }
        const auto next = connector_.names_known(known, now_);
        for (auto* each : {&tried_, &disbelieved_, &again_})
            std::erase_if(*each, [this](const auto& address) { return !usable(address); }); // it may come back as new
        demand((next == step::leave) == (attempting && !usable(present_)),
               "an attempt is left if no name leads there any more, and no other");
        for (const auto& each : names_.all())
            if (confirmed(each) && disbelieved_.erase(each) != 0) {
                again_.insert(each);
                demand(connector_.now_in() != phase::pausing || connector_.due() == now_,
                       "whoever was not believed is asked again as soon as a name leads there");
            }
        take(next);
    }

    void begin_attempt()
    {
        demand(!attempt_began_, "there is one attempt at a time");
        attempt_began_ = now_;
        for_a_session_ = session_.has_value();
        present_ = connector_.address().text;
        tell("attempt at ", present_, session_ ? ", for the session" : ", for a new session");
        check_warning();
        demand(servers_.contains(present_), "attempts are made at addresses");
        demand(usable(present_), session_ ? "nothing is tried where no name leads any more"
                                          : "a new session is asked for at confirmed addresses only");
        demand(tried_.insert(present_).second || again_.contains(present_),
               "an address is tried once in a cycle, and again if it is confirmed after it was not believed");
        again_.erase(present_);
        if (servers_[present_].how != manner::silent) // else until its time is over
            answer_due_ = now_ + dice_.pick({0ms, 0ms, 1ms, longest_latency});
    }

    // --- servers -----------------------------------------------------------------------------------------------------

    /// That of the attempt answers, or hangs up.
    void answer()
    {
        switch (server& s = servers_[present_]; s.how) {
        case manner::serves: serve(s.ensemble); break;
        case manner::refuses: lose(dice_.one_in(2) ? loss::security : loss::connection); break;
        case manner::silent: break;
        case manner::drops:
            if (serve(s.ensemble))
                lose(loss::connection);
            break;
        case manner::ends_sessions:
            s.how = manner::serves;
            if (session_ && session_->ensemble == s.ensemble)
                session_->ends = lease_now();
            serve(s.ensemble);
            break;
        case manner::wants_credentials:
            if (dice_.one_in(2) || serve(s.ensemble))
                lose(loss::credentials);
            break;
        }
    }

    /// False if it says that the session is over.
    bool serve(int ensemble)
    {
        if (session_ && (session_->ensemble != ensemble || session_->ends <= lease_now())) {
            say_that_it_is_over();
            return false;
        }
        const duration granted = settings_.session_timeout / (dice_.one_in(2) ? 1 : shorter_);
        if (!session_) {
            demand(confirmed(present_), "a new session is begun at confirmed addresses only");
            check_warned();
            session_ = session{ensemble, granted, granted, {}};
        }
        session_->granted = granted;
        session_->ends = lease_time::max();
        open();
        return true;
    }

    void say_that_it_is_over()
    {
        const bool believed = connector_.believes_expiry(now_);
        demand(believed == confirmed(present_), "the end of the session is believed at confirmed addresses only");
        demand(!believed || confirmed_by_answer(present_) || session_->ends <= lease_now(),
               "no session that lives is over by the clock");
        if (!believed) {
            disbelieved_.insert(present_);
        }
        lose(believed ? loss::session : loss::disbelieved);
    }

    void open()
    {
        // A server that drops connections is not stormed: of four pauses in a row, one may be none after a loss, one
        // when a new session is asked for, and one is drawn from 0 on.
        opened_at_.push_back(now_);
        if (opened_at_.size() > 4) {
            const auto longest =
                std::min({settings_.backoff * 2, settings_.backoff_limit, settings_.session_timeout / shorter_ / 8});
            demand(now_ - opened_at_.front() >= duration(longest) * 66 / 100, "nobody is stormed");
            opened_at_.pop_front();
        }
        tell("connected");
        connector_.opened(session_->granted);
        demand(connector_.now_in() == phase::connected && !connector_.due(), "a connection needs no step");
        disbelieved_.clear();
        warned_ = false;
        answer_due_ = now_ + 1ms * dice_.below(20000);
    }

    void lose(loss what)
    {
        demand(attempt_began_.has_value(), "what is lost was there");
        const bool was_open = connector_.now_in() == phase::connected;
        const auto to_ask = usable_for_certain();
        refusals_ += what == loss::credentials && confirmed(present_);
        attempt_began_.reset();
        answer_due_ = time_point::max();
        if (was_open)
            note_the_end();
        if (what == loss::session)
            session_.reset();
        const auto next = connector_.lost(what, now_);
        tell("lost ", was_open ? "connection " : "attempt ", static_cast<int>(what));
        check_warning();
        if (what == loss::session && !was_open)
            check_warned();
        if (what == loss::credentials && was_open)
            opened_at_.pop_back(); // the next server is asked at once
        else if (what == loss::session || was_open)
            begin_cycle();
        if (connector_.now_in() == phase::closed)
            return check_refusal(to_ask);
        check_pause();
        demand((next == step::resolve) == (was_open && !names_.none()), "names are asked when a connection ends");
        if (next == step::resolve)
            resolve();
    }

    /// The servers end a session when a tick is over. A leader that takes over knows with which time-out it began.
    void note_the_end()
    {
        lost_at_ = now_;
        lost_lease_ = lease_now();
        const auto kept = dice_.one_in(2) ? session_->granted : std::max(session_->granted, session_->first_granted);
        session_->ends = lost_lease_ + kept + dice_.below(100) * duration(settings_.server_tick) / 100;
    }

    void check_pause() const
    {
        demand(connector_.now_in() == phase::pausing && connector_.due(), "after a loss comes a pause");
        const auto pause = *connector_.due() - now_;
        demand(pause <= std::max(settings_.backoff, settings_.backoff_limit), "a pause has a limit");
        const bool may_live = session_ && lease_now() < lost_lease_ + session_->granted * 2;
        demand(!may_live || pause <= session_->granted / 8, "pauses are short while the session may live");
    }

    void check_refusal(const addresses& to_ask)
    {
        refused_ = true;
        demand(refusals_ != 0, "it ends by itself where credentials are refused");
        demand(disbelieved_.empty() && again_.empty(),
               "credentials are not refused for good while one who was not believed may take them");
        demand(!names_.any_open(), "nor while names are being looked up");
        demand(std::ranges::includes(tried_, to_ask), "nor before all were asked");
    }

    void close()
    {
        const auto began = now_;
        if (!refused_)
            take(connector_.close(now_));
        if (dice_.one_in(2) && connector_.now_in() == phase::flushing)
            connector_.hung_up(now_ += 500ms);
        while (connector_.now_in() != phase::closed) {
            now_ = *connector_.due();
            take(connector_.time_passed(now_));
        }
        demand(now_ - began <= 2s, "closing has a limit");
        tell_names();
        demand(connector_.lost(loss::connection, now_) == step::wait && !connector_.due() &&
                   connector_.time_passed(now_ + 24h) == step::wait,
               "what is closed needs no step");
    }

    std::ostream* const trace_;
    dice dice_;
    names_world names_;
    const connector::settings settings_;
    const int shorter_; ///< some servers grant so much less
    const int manners_; ///< so many of them may be
    time_point now_{1h};
    unit::connecting::sleeper connector_;
    std::map<std::string, server> servers_;
    std::optional<session> session_;

    std::string present_;                       ///< the server of the last attempt
    std::optional<time_point> attempt_began_;   ///< of the connection, too
    time_point answer_due_ = time_point::max(); ///< of the attempt; and when a connection is looked at
    bool for_a_session_ = false;                ///< and not for a new one
    std::optional<time_point> lost_at_;         ///< the last connection
    lease_time lost_lease_{};                   ///< the same
    bool warned_ = false;                       ///< since then
    bool refused_ = false;                      ///< for good
    std::deque<time_point> opened_at_;          ///< the last four
    int at_this_time_ = 0;

    // In this cycle.
    addresses tried_;
    addresses disbelieved_; ///< since there was a connection
    addresses again_;       ///< they were, and are confirmed now
    int refusals_ = 0;
};

} // namespace zklock::connecting
