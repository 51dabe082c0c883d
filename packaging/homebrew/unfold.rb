# brew install --build-from-source packaging/homebrew/unfold.rb    (not tried)
class Unfold < Formula
  desc "Learns the structure of sequences with recurrent networks and classical models"
  homepage "https://unfold.example"
  url "https://unfold.example/unfold-1.0.0.tar.gz"
  license "Apache-2.0"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "pkgconf" => :build
  depends_on "tomlplusplus" => :build
  depends_on "fmt"
  depends_on "highway"
  depends_on "libpng"
  depends_on "libsodium"
  depends_on :linux
  depends_on "pcre2"
  depends_on "utf8proc"
  depends_on "xz"
  depends_on "zlib"
  depends_on "zstd"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DUNFOLD_TESTS=OFF", "-DUNFOLD_EXAMPLES=OFF",
           *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    (testpath/"text").write "abracadabra\n" * 50
    system bin/"unfold", "train", "text", "--model", "ngram:3", "--out", "run"
    assert_match "bits_per_symbol", shell_output("#{bin}/unfold eval run text --json")
  end
end
