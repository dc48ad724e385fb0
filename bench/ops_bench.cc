#include "bench/ops_bench.h"

#include <array>
#include <utility>

#include "base/check.h"

namespace lingbot {
namespace {

using Section = void (*)(const OpsOptions&, const RateSink&);

constexpr std::array<std::pair<const char*, Section>, 6> kSections = {{
    {"peak", BenchPeak},
    {"matmul", BenchMatmul},
    {"frame", BenchFrame},
    {"attention", BenchAttention},
    {"conv", BenchConv},
    {"memory", BenchMemory},
}};

Section FindSection(const std::string& name) {
  for (const auto& [known, section] : kSections) {
    if (name == known) return section;
  }
  Fail(ErrorCode::kInvalidArgument, "there is no section \"{}\"; there are: {}", name,
       fmt::join(SectionNames(), " "));
}

}  // namespace

std::vector<std::string> SectionNames() {
  std::vector<std::string> names;
  for (const auto& [name, section] : kSections) names.emplace_back(name);
  return names;
}

void BenchOps(const OpsOptions& options, const RateSink& sink) {
  const std::vector<std::string> names =
      options.sections.empty() ? SectionNames() : options.sections;
  std::vector<Section> sections;
  for (const std::string& name : names) sections.push_back(FindSection(name));
  for (const Section section : sections) section(options, sink);
}

RateRow WithRate(RateRow row, double amount, const Timing& timing) {
  row.best = amount * 1e-9 / timing.best;
  row.median = amount * 1e-9 / timing.median;
  return row;
}

}  // namespace lingbot
