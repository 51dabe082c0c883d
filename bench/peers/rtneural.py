#!/usr/bin/env python3
"""One step of the C file written by `unfold export --to c`, compared with RTNeural (Eigen, sizes known at compile
time).

    bench/peers/rtneural.py CHECKOUT [--unfold build/release/bin/unfold] [--units 16,32,64,128,256] [--cxx g++] [--cc gcc]

CHECKOUT is a clone of https://github.com/jatinchowdhury18/RTNeural, including its copy of Eigen. The model is an LSTM
with a dense layer of 64 outputs: Unfold's model reads one of 64 symbols, and RTNeural's model reads a single number.
Both are compiled with -O3 -march=native and run alternately on one core; the best of 400 rounds counts, because other
load can only make a round longer. Prints Markdown: microseconds per step without the softmax in both (its line is
removed from the C file), then with the softmax in both.
"""

import argparse
import os
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.,"
FLAGS = ["-O3", "-march=native", "-DNDEBUG"]
NORMALIZER = "const {0}_real normalizer = {0}_log_sum_exp(logits);"


def text():
    """Pseudo-random letters, the same in each call."""
    state, letters = 1, []
    for _ in range(20000):
        state = (state * 1103515245 + 12345) % 2**31
        letters.append(ALPHABET[(state >> 16) % len(ALPHABET)])
    return "".join(letters) + ALPHABET


def export(options, units, folder):
    """The C file of a barely trained model; training does not affect its speed."""
    run = subprocess.run
    data, model = os.path.join(folder, "text.txt"), os.path.join(folder, "run")
    with open(data, "w", encoding="ascii") as file:
        file.write(text())
    run([options.unfold, "train", data, "--out", model, "--overwrite", "--quiet", "--model", f"lstm:{units}",
         "--symbols", "chars", "--steps", "1", "--threads", "1"], check=True, stdout=subprocess.DEVNULL)
    for name in ("model", "logits"):
        path = os.path.join(folder, name + ".c")
        run([options.unfold, "export", model, "--to", "c", "--name", name, "-o", path], check=True)
    with open(path, encoding="ascii") as file:
        source = file.read()
    line = NORMALIZER.format("logits")
    if line not in source:
        raise SystemExit("rtneural.py: the C file contains an unknown form of the softmax")
    with open(path, "w", encoding="ascii") as file:
        file.write(source.replace(line, "const float normalizer = 0;"))


def measure(options, units):
    with tempfile.TemporaryDirectory() as folder:
        export(options, units, folder)
        objects = []
        for name in ("model", "logits"):
            objects.append(os.path.join(folder, name + ".o"))
            subprocess.run([options.cc, *FLAGS, "-Wno-unused-function", "-c", os.path.join(folder, name + ".c"), "-o",
                            objects[-1]], check=True)
        program = os.path.join(folder, "rtneural")
        includes = [f"-I{folder}", f"-I{options.checkout}", f"-I{options.checkout}/modules/Eigen",
                    f"-I{options.checkout}/modules/json"]
        subprocess.run([options.cxx, *FLAGS, "-std=c++17", f"-DUNITS={units}", "-DRTNEURAL_USE_EIGEN=1",
                        "-DRTNEURAL_DEFAULT_ALIGNMENT=32", "-DEIGEN_STACK_ALLOCATION_LIMIT=0", *includes,
                        os.path.join(HERE, "rtneural.cpp"), *objects, "-lm", "-o", program], check=True)
        print(subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout, end="", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout")
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--units", default="16,32,64,128,256")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--cc", default="gcc")
    options = parser.parse_args()
    print("| units | step, no softmax | RTNeural, no softmax | ratio | step | RTNeural with softmax | ratio |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for units in options.units.split(","):
        measure(options, int(units))


if __name__ == "__main__":
    main()
