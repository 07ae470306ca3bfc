#pragma once
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace zklock::test {

/// A page in Prometheus's text format, read strictly: whatever a scraper might refuse, or `promtool check metrics`
/// complain of, is an exception.
class prometheus_page {
public:
    using labels = std::map<std::string, std::string>;

    explicit prometheus_page(std::string_view text)
    {
        demand(!text.empty() && text.back() == '\n', "no line feed at the end");
        while (!text.empty()) {
            const auto end = text.find('\n');
            read(text.substr(0, end));
            text.remove_prefix(end + 1);
        }
        end_of_family();
    }

    /// Of the sample with that name, and these labels and no others.
    [[nodiscard]] double value(const std::string& name, const labels& of = {}) const
    {
        const auto found = samples_.find({name, of});
        return found != samples_.end() ? found->second : throw std::runtime_error("no sample of " + name);
    }
    [[nodiscard]] std::size_t size() const { return samples_.size(); }

private:
    struct histogram {
        double last_limit = -std::numeric_limits<double>::infinity();
        double below = 0;
        bool has_sum = false, has_count = false;
    };

    void demand(bool holds, const std::string& what) const
    {
        if (!holds)
            throw std::runtime_error(what + ", in line: " + line_);
    }
    static bool is_name(std::string_view name, bool colons)
    {
        for (std::size_t i = 0; i < name.size(); ++i) {
            const char c = name[i];
            const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colons && c == ':');
            if (!is_letter && !(i > 0 && c >= '0' && c <= '9'))
                return false;
        }
        return !name.empty();
    }

    void read(std::string_view line)
    {
        line_ = line;
        if (line.starts_with("# HELP ")) {
            end_of_family();
            line.remove_prefix(7);
            family_ = line.substr(0, line.find(' '));
            demand(is_name(family_, true), "no name");
            demand(families_.insert(family_).second, "twice the same family");
            demand(line.size() > family_.size() + 1, "no help");
        } else if (line.starts_with("# TYPE ")) {
            line.remove_prefix(7);
            demand(!family_.empty() && type_.empty() && line.starts_with(family_ + " "), "a type of something else");
            type_ = line.substr(family_.size() + 1);
            demand(type_ == "counter" || type_ == "gauge" || type_ == "histogram", "an unknown type");
            demand((type_ == "counter") == family_.ends_with("_total"), "counters, and only they, end with _total");
        } else {
            demand(!line.empty() && line[0] != '#', "neither a sample nor what is said of a family");
            sample(line);
        }
    }

    void sample(std::string_view line)
    {
        const auto end = line.find_first_of("{ ");
        demand(end != line.npos, "no value");
        const std::string name(line.substr(0, end));
        demand(is_name(name, true) && !type_.empty(), "no name, or no type");
        line.remove_prefix(end);
        labels found;
        if (line[0] == '{')
            found = take_labels(line);
        demand(line.size() > 1 && line[0] == ' ', "no blank before the value");
        const double value = number(line.substr(1));
        demand(type_ == "gauge" || (value >= 0 && std::isfinite(value)), "a count below 0");
        demand(samples_.emplace(std::pair(name, found), value).second, "twice the same sample");
        if (type_ == "histogram")
            part_of_histogram(name, found, value);
        else
            demand(name == family_, "a sample of another family");
    }

    labels take_labels(std::string_view& line)
    {
        labels found;
        do {
            line.remove_prefix(1);
            const auto equals = line.find("=\"");
            demand(equals != line.npos, "a label without a value");
            const std::string name(line.substr(0, equals));
            demand(is_name(name, false), "a label's name");
            line.remove_prefix(equals + 2);
            std::string value;
            for (; demand_one(line) != '"'; line.remove_prefix(1)) {
                char c = line[0];
                if (c == '\\') {
                    line.remove_prefix(1);
                    c = demand_one(line);
                    demand(c == '\\' || c == '"' || c == 'n', "an unknown escape");
                    c = c == 'n' ? '\n' : c;
                }
                value += c;
            }
            line.remove_prefix(1);
            demand(found.emplace(name, value).second, "twice the same label");
        } while (demand_one(line) == ',');
        demand(line[0] == '}', "no end of the labels");
        line.remove_prefix(1);
        return found;
    }
    char demand_one(std::string_view line) const
    {
        demand(!line.empty(), "the line is too short");
        return line[0];
    }

    [[nodiscard]] double number(std::string_view text) const
    {
        if (text == "+Inf")
            return std::numeric_limits<double>::infinity();
        double value = 0;
        const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
        demand(ec == std::errc() && end == text.data() + text.size(), "no number");
        return value;
    }

    void part_of_histogram(const std::string& name, labels of, double value)
    {
        const auto limit = of.find("le");
        const bool is_bucket = name == family_ + "_bucket";
        demand(is_bucket == (limit != of.end()), "le is a bucket's");
        const double le = is_bucket ? number(limit->second) : 0;
        of.erase("le");
        histogram& h = histograms_[of];
        if (is_bucket) {
            demand(le > h.last_limit, "buckets out of order");
            demand(value >= h.below, "a bucket with less than the one before");
            h.last_limit = le;
            h.below = value;
        } else if (name == family_ + "_sum") {
            h.has_sum = true;
        } else {
            demand(name == family_ + "_count" && value == h.below, "the count is not that of the last bucket");
            h.has_count = true;
        }
    }

    void end_of_family()
    {
        for (const auto& [of, h] : histograms_)
            demand(h.has_sum && h.has_count && std::isinf(h.last_limit), "an incomplete histogram");
        histograms_.clear();
        type_.clear();
    }

    std::string line_, family_, type_;
    std::set<std::string> families_;
    std::map<labels, histogram> histograms_;
    std::map<std::pair<std::string, labels>, double> samples_;
};

} // namespace zklock::test
