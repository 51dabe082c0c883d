#!/usr/bin/env bash
# Writes the golden models of this folder: for each a model file (or a run stopped on its way) and NAME.golden, the
# commands that golden_test.cpp runs on it, each with the output that it must have. Later builds must read the files and
# print the same digits. After a deliberate change of a format, run this only for new models: existing files test that
# files of earlier releases can be read.
#
#   tests/golden/make.sh build/release/bin/unfold [NAME...]
set -euo pipefail
unfold=$(realpath "$1")
shift
only=" $* "
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export UNFOLD_THREADS=1

wanted() { [ "$only" = "  " ] || [[ $only == *" $1 "* ]]; }

# record NAME COMMAND...: appends a command and its output, without what the clock says.
record() {
  local name=$1
  shift
  {
    printf '$ %s\n' "$*"
    "$unfold" "$@" 2>"$work/errors" | sed -E 's/"(seconds|symbols_per_second)":[^,}]*,//g'
  } >>"$name.golden" || { cat "$work/errors"; exit 1; }
  tail -c 1 "$name.golden" | cmp -s - <(printf '\n') || printf '\n' >>"$name.golden"
}

# text_model NAME DATA OPTIONS...: trains on DATA, records what every model of symbols can do.
text_model() {
  local name=$1 data=$2
  shift 2
  wanted "$name" || return 0
  rm -rf "$name.golden" "$work/run"
  "$unfold" train "$data" --out "$work/run" --quiet "$@" >"$work/out"
  cp "$work/run/model.safetensors" "$name.safetensors"
  local unseen=unseen.txt
  [ "$data" = text.txt ] || unseen=$data
  record "$name" eval "$name.safetensors" "$unseen" --unknown skip --json
  record "$name" score "$name.safetensors" "$unseen" --unknown skip
  record "$name" sample "$name.safetensors" --length 60 --seed 7
  record "$name" complete "$name.safetensors" --prime the --length 5 --json
}

# recurrent NAME SPEC OPTIONS...
recurrent() {
  text_model "$1" text.txt --model "$2" --steps 20 --batch 4 --window 16 --optimizer adam:rate=0.02,clip=1 "${@:3}"
}

# gated NAME SPEC: by the Riemannian metric, over whole sequences, in double.
gated() {
  text_model "$1" text.txt --model "$2" --optimizer ruop --lines --whole-sequences --batch 12 --steps 10 --split 100/0/0
}

# task_model NAME TASK OPTIONS...
task_model() {
  local name=$1 task=$2
  shift 2
  wanted "$name" || return 0
  rm -rf "$name.golden" "$work/run"
  "$unfold" train --task "$task" --out "$work/run" --quiet --steps 20 --batch 8 --validate-on 20 "$@" >"$work/out"
  cp "$work/run/model.safetensors" "$name.safetensors"
  record "$name" eval "$name.safetensors" --count 30 --seed 3 --json
}

# field_model NAME DATA OPTIONS...: data with fields.
field_model() {
  local name=$1 data=$2
  shift 2
  wanted "$name" || return 0
  rm -rf "$name.golden" "$work/run"
  "$unfold" train "$data" --out "$work/run" --quiet --steps 20 --batch 4 --optimizer adam:rate=0.02,clip=1 "$@" \
    >"$work/out"
  cp "$work/run/model.safetensors" "$name.safetensors"
  record "$name" eval "$name.safetensors" "$data" --json
  record "$name" predict "$name.safetensors" "$data" --quiet
  record "$name" score "$name.safetensors" "$data"
}

# stopped_run NAME STEPS CHECK OPTIONS...: a run that ended in the middle of an epoch; the command of its golden file
# resumes it to STEPS. CHECK measures the model.
stopped_run() {
  local name=$1 steps=$2 check=$3
  shift 3
  wanted "$name" || return 0
  rm -rf "$name" "$name.golden"
  "$unfold" train --out "$name" --quiet "$@" >"$work/out"
  cp -r "$name" "$work/stopped"
  record "$name" train --out "$name" --resume --steps "$steps" --json
  # shellcheck disable=SC2086
  record "$name" $check
  rm -r "$name"
  mv "$work/stopped" "$name"
}

printf 'a\0b\xff a\0c\xff a\0b\xfe a\0b\xff\n a\0c\xff a\0b\xff a\0c\xfe a\0b\xff' >bytes.bin

recurrent lstm lstm:5
recurrent lstm-layers lstm:3,layers=2,dropout=0.2,embedding=3,trained-initial=true
recurrent lstm-chrono lstm:4,chrono=20 --precision double
recurrent lstm-words lstm:4 --symbols words
recurrent gru gru:5
recurrent gru-after gru:4,reset=after,dropout=0.1 --lines
recurrent rnn rnn:6
recurrent rnn-relu rnn:6,activation=relu,init=uniform,scale=0.2 --predict-after ' '
recurrent irnn irnn:6
recurrent np-rnn np-rnn:6
recurrent mrnn mrnn:5,factors=4
recurrent tensor-rnn tensor-rnn:3
recurrent urnn urnn:4,permutation=3
text_model lstm-bytes bytes.bin --symbols bytes --model lstm:3 --steps 20 --batch 2 --window 8
gated gnn gnn:5,edges=3
gated glnn glnn:5,edges=3
gated sparse-rnn sparse-rnn:5,edges=3
text_model rnn-hf text.txt --model rnn:4 --optimizer hf --steps 3 --lines --batch 12

text_model ngram text.txt --model ngram:3
text_model ngram-words text.txt --model ngram:3 --symbols words
text_model witten-bell text.txt --model ngram:2,smoothing=witten-bell,sentences=yes
text_model hmm text.txt --model hmm:3,restarts=2,iterations=20
text_model frequency text.txt --model frequency
text_model uniform text.txt --model uniform
text_model ppm text.txt --model ppm:3
text_model ctw text.txt --model ctw:16,add=0.1
text_model cm text.txt --model cm:1,level=fast
text_model cm-bytes bytes.bin --symbols bytes --model cm:1
text_model mix text.txt --model mix:ppm:2+lstm:3+ctw:12

text_model labels log.txt --model ngram:2 --label-column --only-label - --split 100/0/0

if wanted hmm; then record hmm score hmm.safetensors unseen.txt --by state --unknown skip; fi
if wanted ngram-words; then record ngram-words export ngram-words.safetensors --to arpa; fi
if wanted labels; then record labels score labels.safetensors log.txt --by line --unknown skip --json; fi
for name in lstm gru ppm ctw cm mix; do
  if wanted $name; then record $name eval $name.safetensors unseen.txt --unknown skip --dynamic --json; fi
done
if wanted lstm; then
  record lstm eval lstm.safetensors unseen.txt --unknown skip --segments 3 --warmup 8 --json
  "$unfold" compress text.txt --model lstm.safetensors --embed --online --quiet -o lstm.unf >"$work/out"
  record lstm decompress lstm.unf --quiet -o -
fi

task_model task-adding adding:8 --model rnn:4
task_model task-multiplication multiplication:8 --model lstm:4,layers=2
task_model task-temporal-order temporal-order:10 --model gru:4
task_model task-copy copy:5,pattern=3 --model rnn:5,activation=relu,init=identity --optimizer path+adam

field_model fields-tagger chunks.txt --model bigru:3 --read 1,1.suffix2 --predict '3,2@end'
field_model fields-classifier labelled.txt --model bilstm:3,dropout=0.1 --format labelled
field_model fields-forecast wave.csv --model gru:3 --predict load=mixture:2
if wanted fields-forecast; then
  record fields-forecast forecast fields-forecast.safetensors wave.csv --ahead 1
fi

# Labels that are judged together, and hidden states.
tags=(chunks.txt --read 1 --predict)
field_model crf "${tags[@]}" 3=crf --model bigru:3
field_model crf-segments "${tags[@]}" 3=crf:segments=3 --model bigru:3
field_model crf-steps "${tags[@]}" 3=crf:steps=read --model bigru:3
field_model crf-margin "${tags[@]}" 3=crf --model bigru:3 --objective margin
field_model crf-features chunks.txt --model crf --predict 3 --read '1[-1],1[0],1[-1]|1[0]'
field_model crf-hash chunks.txt --model crf:hash=6 --predict 3 --read '1[-1],1[0]' --optimizer lbfgs:l2=2
field_model hybrid "${tags[@]}" 3=hybrid:2,order=forward --model bigru:3
field_model ctc "${tags[@]}" 3=ctc --model bigru:3
field_model gaussian-hmm wave.csv --model gaussian-hmm:3,restarts=1
field_model gaussian-hmm-head wave.csv --model gru:3 --predict load=gaussian-hmm:2
for name in crf crf-segments; do
  if wanted $name; then
    record $name predict $name.safetensors chunks.txt --best 3 --probabilities --quiet
  fi
done

field_model pairs numerals.pairs --model bigru:4,attention=additive --split 100/0/0
if wanted pairs; then
  record pairs predict pairs.safetensors numerals.pairs --beam 4 --best 2 --quiet
  record pairs predict pairs.safetensors numerals.pairs --sample --samples 2 --seed 3 --quiet
  record pairs predict pairs.safetensors --given source=seven --attention --format jsonl --quiet
fi
whole=(labelled.txt --format labelled --read label --predict text --split 100/0/0)
field_model whole-symbol "${whole[@]}" --ends symbol --model gru:4
field_model whole-stop "${whole[@]}" --ends stop --model lstm:3,condition=start
field_model whole-length "${whole[@]}" --ends negative-binomial --model rnn:4,condition=steps
for name in whole-symbol whole-stop whole-length; do
  if wanted $name; then
    record $name sample $name.safetensors --given label=neg --count 3 --length 12
    record $name eval $name.safetensors labelled.txt --given label=pos --json
  fi
done

stopped_run run-lstm 60 'eval run-lstm unseen.txt --unknown skip --json' text.txt --model lstm:4,dropout=0.2 \
  --optimizer adam:rate=0.02,clip=1 --batch 3 --window 10 --steps 25 --split 90/10
stopped_run run-ruop 20 'eval run-ruop unseen.txt --unknown skip --json' text.txt --model glnn:4,edges=2 \
  --optimizer ruop --lines --whole-sequences --batch 12 --steps 7 --split 100/0/0
stopped_run run-hf 6 'eval run-hf unseen.txt --unknown skip --json' text.txt --model rnn:4 --optimizer hf --lines \
  --batch 12 --steps 2
stopped_run run-path 50 'eval run-path unseen.txt --unknown skip --json' text.txt --model irnn:4 \
  --optimizer path+adam --batch 2 --window 12 --steps 17
stopped_run run-task 40 'eval run-task --count 30 --seed 3 --json' --task adding:8 --model lstm:3 --batch 4 \
  --optimizer adam:rate=0.01 --steps 13 --validate-on 20
stopped_run run-fields 30 'eval run-fields chunks.txt --json' chunks.txt --model bigru:3,dropout=0.2 --batch 4 \
  --optimizer adam:rate=0.01 --steps 11 --predict 3=softmax
