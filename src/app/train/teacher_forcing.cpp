#include "app/train/teacher_forcing.h"

#include "base/error.h"

namespace unfold {

TeacherForcing teacher_forcing(const TrainSettings& s) {
  using Shape = TeacherForcing::Shape;
  if (!s.teacher_forcing && s.forcing_schedule)
    throw UsageError("--forcing-schedule says how --teacher-forcing falls, as 1..0.2: give that, too");
  if (!s.teacher_forcing) return {};
  const std::string name = s.forcing_schedule.value_or("linear");
  const TeacherForcing forcing =
      TeacherForcing::parse(*s.teacher_forcing, name == "exponential"       ? Shape::exponential
                                                : name == "inverse-sigmoid" ? Shape::inverse_sigmoid
                                                                            : Shape::linear);
  if (s.forcing_schedule && forcing.from == forcing.to)
    throw UsageError(
        "--forcing-schedule says how --teacher-forcing falls, as 1..0.2, and this stays as it is: leave it out");
  if (s.feedback && forcing.always())
    throw UsageError(
        "--teacher-forcing 1 reads what is true everywhere, and --feedback what the network gave: leave one out");
  return forcing;
}

}  // namespace unfold
