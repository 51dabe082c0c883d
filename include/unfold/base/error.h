#pragma once
/// Exception types of the library. Each class carries the documented exit code of the command; a message says what is
/// wrong, where, and what to do. The libraries of this project throw; they never print and never exit.

#include <stdexcept>
#include <string>

namespace unfold {

enum class ExitCode : int {
  success = 0,
  failure = 1,       ///< run-time failure, such as an input/output error or a full disk
  usage = 2,         ///< invalid option, SPEC or circuit
  bad_data = 3,      ///< invalid input data
  bad_model = 4,     ///< invalid or incompatible model file
  diverged = 5,      ///< training diverged and could not recover
  verification = 6,  ///< wrong checksum, decoding mismatch or failed derivative check
  interrupted = 130  ///< stopped by a signal; a checkpoint was written
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

#define UNFOLD_DEFINE_ERROR(Name, exit_code)                                           \
  class Name : public Error {                                                          \
   public:                                                                             \
    explicit Name(const std::string& message) : Error(ExitCode::exit_code, message) {} \
  };
UNFOLD_DEFINE_ERROR(RuntimeFailure, failure)
UNFOLD_DEFINE_ERROR(UsageError, usage)
UNFOLD_DEFINE_ERROR(DataError, bad_data)
UNFOLD_DEFINE_ERROR(ModelError, bad_model)
UNFOLD_DEFINE_ERROR(DivergedError, diverged)
UNFOLD_DEFINE_ERROR(VerificationError, verification)
UNFOLD_DEFINE_ERROR(InterruptedError, interrupted)
#undef UNFOLD_DEFINE_ERROR

}  // namespace unfold
