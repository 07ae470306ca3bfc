#pragma once
// The third that is compared: zklock::testing's ensemble in memory.
#include "conformance/sides.hpp"
#include "testing/memory_store.hpp"

namespace zklock::conformance {

class memory_side final : public side {
public:
    explicit memory_side(bool exists_needs_read)
        : servers_(std::make_shared<testing::memory_ensemble>("conformance:1", exists_needs_read))
    {
        servers_->begin();
        for (unsigned c = 0; c < clients; ++c) {
            current_.push_back(nullptr);
            reopen(c);
        }
    }
    ~memory_side() override { servers_->end(); }
    store::node_store& store_of(unsigned c) override { return *current_[c]->store; }
    recorder& told(unsigned c) override { return current_[c]->told; }
    void run_until(const std::function<bool()>& holds) override { run(context_, holds, "the ensemble in memory"); }
    void set_data(const std::string& path, const std::string& data) override
    {
        servers_->change({.what = transaction::kind::set_data, .path = path, .data = data});
    }
    void allow(const std::string& path, testing::permissions p) override
    {
        const access_list both{{"world", "anyone", bits_of(p)}, administrator()};
        servers_->change(
            {.what = transaction::kind::set_access, .path = path, .access = std::make_shared<const access_list>(both)});
    }
    void remove(const std::string& path) override
    {
        servers_->change({.what = transaction::kind::remove, .path = path});
    }
    void cut(unsigned c) override { servers_->cut(told(c).session); }
    void expire(unsigned c) override { servers_->expire(told(c).session); }
    void reopen(unsigned c) override
    {
        all_.push_back(std::make_unique<client>(*this));
        current_[c] = all_.back().get();
        run_until([&] { return told(c).connections != 0; });
    }

private:
    struct client {
        explicit client(memory_side& of)
            : turns(std::make_shared<runtime::turns>()), scheduler(runtime::asio_scheduler::make(of.strand_, turns)),
              store(std::make_shared<testing::memory_store>(of.servers_, surroundings(of)))
        {
            store->attach(told);
        }
        ~client() { store->stop(false); }

        runtime::store_surroundings surroundings(memory_side& of)
        {
            client_options options;
            options.session_timeout = 60s;
            return {options,
                    *scheduler,
                    [strand = of.strand_, t = turns](store::unique_function<void()> f) {
                        boost::asio::post(strand, [t, f = std::move(f)] { t->run([&] { f(); }); });
                    },
                    [] {},
                    [] {},
                    [] { return lease_clock::time_point::max(); }};
        }

        recorder told;
        const std::shared_ptr<runtime::turns> turns;
        const std::shared_ptr<runtime::asio_scheduler> scheduler;
        const std::shared_ptr<testing::memory_store> store;
    };
    const std::shared_ptr<testing::memory_ensemble> servers_;
    boost::asio::io_context context_{1};
    runtime::strand strand_ = runtime::make_strand(context_.get_executor());
    std::vector<std::unique_ptr<client>> all_;
    std::vector<client*> current_;
};

} // namespace zklock::conformance
