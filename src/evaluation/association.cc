#include "evaluation/association.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace lingbot {
namespace {

// Timestamps in ascending order and where they come from.
using SortedTimes = std::vector<std::pair<double, size_t>>;

SortedTimes SortTimes(const PoseTrack& track) {
  SortedTimes times;
  times.reserve(track.poses.size());
  for (size_t i = 0; i < track.poses.size(); ++i) times.emplace_back(track.poses[i].timestamp, i);
  std::sort(times.begin(), times.end());
  return times;
}

// The first entry of the nearest time; the earlier of two equally near.
const std::pair<double, size_t>& Nearest(const SortedTimes& times, double time) {
  auto above = std::lower_bound(times.begin(), times.end(), std::pair(time, size_t{0}));
  if (above == times.begin()) return *above;
  const double before = std::prev(above)->first;
  if (above != times.end() && above->first - time < time - before) return *above;
  return *std::lower_bound(times.begin(), times.end(), std::pair(before, size_t{0}));
}

// (fewer, more) for each pose of the track that has fewer.
std::vector<std::pair<size_t, size_t>> MatchTimes(const PoseTrack& fewer, const PoseTrack& more,
                                                  double tolerance) {
  const SortedTimes times = SortTimes(more);
  std::map<size_t, std::pair<double, size_t>> taken;  // by the longer track's pose
  for (size_t i = 0; i < fewer.poses.size(); ++i) {
    const double time = fewer.poses[i].timestamp;
    const auto& [other, index] = Nearest(times, time);
    const double distance = std::abs(other - time);
    if (!(distance <= tolerance)) continue;
    const auto [entry, is_new] = taken.try_emplace(index, distance, i);
    if (!is_new && distance < entry->second.first) entry->second = {distance, i};
  }
  std::vector<std::pair<size_t, size_t>> pairs;
  for (const auto& [index, nearest] : taken) pairs.emplace_back(nearest.second, index);
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

std::vector<Match> ByTime(const PoseTrack& run, const PoseTrack& truth, double tolerance) {
  Check(run.has_timestamps && truth.has_timestamps, ErrorCode::kInvalidArgument,
        "the {} has no timestamps to associate by", run.has_timestamps ? "ground truth" : "run");
  std::vector<Match> matches;
  if (truth.poses.size() < run.poses.size()) {
    for (const auto& [t, r] : MatchTimes(truth, run, tolerance)) matches.push_back({r, t});
  } else {
    for (const auto& [r, t] : MatchTimes(run, truth, tolerance)) matches.push_back({r, t});
  }
  return matches;
}

// The first pose of each key, by which both tracks are matched; empty names are no keys.
template <typename KeyOf>
std::vector<Match> ByKey(const PoseTrack& run, const PoseTrack& truth, KeyOf key_of) {
  std::map<decltype(key_of(truth.poses[0])), std::optional<size_t>> truths;
  for (size_t i = 0; i < truth.poses.size(); ++i) truths.try_emplace(key_of(truth.poses[i]), i);
  if constexpr (std::is_same_v<decltype(key_of(truth.poses[0])), std::string>) truths.erase("");
  std::vector<Match> matches;
  for (size_t i = 0; i < run.poses.size(); ++i) {
    const auto found = truths.find(key_of(run.poses[i]));
    if (found == truths.end() || !found->second) continue;
    matches.push_back({i, *found->second});
    found->second.reset();
  }
  return matches;
}

std::string StemOf(const TrackPose& pose) {
  return std::filesystem::path(pose.name).stem().string();
}

bool SameNames(const PoseTrack& run, const PoseTrack& truth) {
  return run.has_names() && truth.has_names();
}

AssociateBy Choose(const PoseTrack& run, const PoseTrack& truth) {
  const bool invented = run.invented_times || truth.invented_times;
  if (run.has_timestamps && truth.has_timestamps && !invented) return AssociateBy::kTime;
  const bool by_name = SameNames(run, truth) && !ByKey(run, truth, StemOf).empty();
  return by_name ? AssociateBy::kName : AssociateBy::kIndex;
}

}  // namespace

const char* NameOf(AssociateBy by) {
  switch (by) {
    case AssociateBy::kAuto:
      return "auto";
    case AssociateBy::kTime:
      return "time";
    case AssociateBy::kIndex:
      return "index";
    case AssociateBy::kName:
      return "name";
  }
  return "?";
}

Association Associate(const PoseTrack& run, const PoseTrack& truth, AssociateBy by,
                      double tolerance) {
  Association result;
  if (run.poses.empty() || truth.poses.empty()) return result;
  result.by = by == AssociateBy::kAuto ? Choose(run, truth) : by;
  if (result.by == AssociateBy::kTime) {
    result.matches = ByTime(run, truth, tolerance);
  } else if (result.by == AssociateBy::kName) {
    Check(SameNames(run, truth), ErrorCode::kInvalidArgument,
          "the {} has no image names to associate by", run.has_names() ? "ground truth" : "run");
    result.matches = ByKey(run, truth, StemOf);
  } else {
    result.matches = ByKey(run, truth, [](const TrackPose& pose) { return pose.index; });
  }
  return result;
}

}  // namespace lingbot
