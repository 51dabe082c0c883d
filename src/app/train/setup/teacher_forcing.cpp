#include "app/train/setup/teacher_forcing.h"

#include "unfold/base/error.h"

namespace unfold {

TeacherForcing teacher_forcing(const TrainSettings& s) {
  using Shape = TeacherForcing::Shape;
  if (!s.teacher_forcing && s.forcing_schedule)
    throw UsageError("--forcing-schedule requires --teacher-forcing A..B, for example 1..0.2");
  if (!s.teacher_forcing) return {};
  const std::string name = s.forcing_schedule.value_or("linear");
  const TeacherForcing forcing =
      TeacherForcing::parse(*s.teacher_forcing, name == "exponential"       ? Shape::exponential
                                                : name == "inverse-sigmoid" ? Shape::inverse_sigmoid
                                                                            : Shape::linear);
  if (s.forcing_schedule && forcing.from == forcing.to)
    throw UsageError(
        "--forcing-schedule has no effect with a constant --teacher-forcing; omit it, or use A..B, for example "
        "1..0.2");
  if (s.feedback && forcing.always())
    throw UsageError("--teacher-forcing 1 and --feedback cannot be combined; leave one of them out");
  return forcing;
}

}  // namespace unfold
