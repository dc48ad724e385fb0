#ifndef LINGBOT_EVALUATION_ASSOCIATION_H_
#define LINGBOT_EVALUATION_ASSOCIATION_H_

#include <vector>

#include "evaluation/pose_track.h"

namespace lingbot {

enum class AssociateBy {
  kAuto,   // time where both have it (not invented), else name, else index
  kTime,   // nearest timestamps
  kIndex,  // equal TrackPose::index
  kName,   // equal image names, folders and file extension apart
};

const char* NameOf(AssociateBy by);  // "auto", "time", "index", "name"

struct Match {
  size_t run;    // into the run's poses
  size_t truth;  // into the true ones
};

struct Association {
  AssociateBy by = AssociateBy::kTime;  // what kAuto came to
  std::vector<Match> matches;           // every pose at most once
};

// By time: for each pose of the track that has fewer (the run's, if they have equally many), the
// nearest one of the other if it is at most `tolerance` seconds away, the earlier of two equally
// near; as the evo package does it. Where two want the same one, the nearer keeps it. Throws
// kInvalidArgument if the tracks lack what `by` compares.
Association Associate(const PoseTrack& run, const PoseTrack& truth, AssociateBy by,
                      double tolerance);

}  // namespace lingbot

#endif  // LINGBOT_EVALUATION_ASSOCIATION_H_
