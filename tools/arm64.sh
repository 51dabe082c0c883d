#!/usr/bin/env bash
# Builds Unfold for 64-bit Arm (NEON) on x86-64 Debian or Ubuntu, runs the arithmetic tests under qemu, and trains the
# same small model on both architectures. The model files must be byte-identical. Takes about ten minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly root=$PWD/build/arm64-root lists=$PWD/build/arm64-lists
readonly libraries=(libhwy-dev libhwy1 libgtest-dev libgmock-dev librapidcheck-dev libfmt-dev libtomlplusplus-dev zlib1g-dev
                    zlib1g liblzma-dev liblzma5 libzstd-dev libzstd1 libutf8proc-dev libpcre2-dev
                    libpcre2-8-0 libsodium-dev libsodium23 libpng-dev libpng16-16)

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# The Arm packages are only unpacked into build/arm64-root; the architecture of the system does not change.
fetch_libraries() {
  if [ -e "$root/done" ]; then return; fi
  local options=(-oAPT::Architecture=arm64 -oAPT::Architectures=arm64 -oDir::State::Lists="$lists")
  mkdir -p "$root/deb" "$lists/partial"
  apt-get -qq "${options[@]}" update
  (cd "$root/deb" && apt-get -qq "${options[@]}" download "${libraries[@]}" $(versioned_libraries))
  for package in "$root"/deb/*.deb; do dpkg -x "$package" "$root"; done
  touch "$root/done"
}

# The package names contain a version, which differs between releases.
versioned_libraries() { dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' 'libfmt[0-9]*' 'libtomlplusplus[0-9]*' 'libutf8proc[0-9]*' | sed -n 's/^ii *//p'; }

train() {  # train COMMAND... FOLDER
  local folder=${*: -1}
  rm -rf "$folder"
  "${@:1:$#-1}" train build/arm64-text.txt --split 90/10 --model lstm:24,dropout=0.1 --steps 20 --batch 4 --window 16 \
    --quiet --out "$folder" >/dev/null
}

main() {
  tools/setup.sh build test
  if ! command -v aarch64-linux-gnu-g++ >/dev/null || ! command -v qemu-aarch64-static >/dev/null; then
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes g++-aarch64-linux-gnu qemu-user-static >/dev/null
  fi
  fetch_libraries
  cmake --preset arm64
  cmake --build --preset arm64
  qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$root/usr/lib/aarch64-linux-gnu" \
    build/arm64/tests/numerics/arithmetic_test --gtest_brief=1
  cat docs/*.md README.md >build/arm64-text.txt
  train build/release/bin/unfold build/arm64-native
  train qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$root/usr/lib/aarch64-linux-gnu" \
    build/arm64/bin/unfold build/arm64-neon
  cmp build/arm64-native/model.safetensors build/arm64-neon/model.safetensors
  echo "the models trained with NEON and on this processor are byte-identical"
}

main
