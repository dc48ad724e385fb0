#ifndef LINGBOT_WEIGHTS_ADVICE_H_
#define LINGBOT_WEIGHTS_ADVICE_H_

namespace lingbot {

// What readers of checkpoints tell the user to do, as ends of their messages.
inline constexpr const char* kDamaged = "the file is damaged, download it again";
inline constexpr const char* kSaveStateDict =
    "save the weights alone with torch.save(model.state_dict(), FILE)";

}  // namespace lingbot

#endif  // LINGBOT_WEIGHTS_ADVICE_H_
