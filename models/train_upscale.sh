#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trains the demo's network by rynd, from models/upscale_network.py on, and compares it with models/upscale2x.onnx.
#
#     apt-get install python3-pil python3-numpy lomiri-wallpapers-16.04 lomiri-wallpapers-20.04
#     models/train_upscale.sh [FOLDER]        (default: build/upscale; a second run goes on where a first was stopped)
#
# The photos are those of /usr/share/backgrounds (PHOTOS: another folder); those of models/photos are held out. Written into FOLDER: the pairs of tiles,
# upscale2x.onnx, its checkpoint, train.jsonl, upscale2x.svg, and upscale2x.log: the command's words, the losses of validation and the PSNR of each held-out photo.
# EPOCHS (24) is how often it goes through all tiles; RYND is the command (build/release/bin/rynd); PYTHON has the package onnx (build/venv/bin/python).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/build/upscale}
rynd=${RYND:-$root/build/release/bin/rynd}
mkdir -p "$out"

cut_tiles() { # FROM TO: whole or not at all
    if [ ! -d "$2" ]; then
        rm -rf "$2.part"
        "$root/models/photo_tiles.py" "$1" "$2.part"
        mv "$2.part" "$2"
    fi
}
cut_tiles "${PHOTOS:-/usr/share/backgrounds}" "$out/tiles"
cut_tiles "$root/models/photos" "$out/held_out"

"${PYTHON:-$root/build/venv/bin/python}" "$root/models/upscale_network.py" "$out/begin.onnx"
set -- "$out/begin.onnx" --data "$out/tiles" --validate "$out/held_out" --scale 1/255 --crop 32 --flip --batch 16 \
    --epochs "${EPOCHS:-24}" --loss l1 --optimizer adam --lr 0.002 --schedule cosine --lr-last 0.001 --warmup 100 \
    --log "$out/train.jsonl" --plot "$out/upscale2x.svg" -o "$out/upscale2x.onnx"
if [ -f "$out/upscale2x.checkpoint.npz" ]; then
    set -- "$@" --resume "$out/upscale2x.checkpoint.npz"
fi
"$rynd" train "$@" > "$out/upscale2x.log"
grep '"row":"validation"' "$out/train.jsonl" >> "$out/upscale2x.log"

for model in "$root/models/upscale2x.onnx" "$out/upscale2x.onnx"; do
    for photo in "$root"/models/photos/*.png; do
        "$root/tools/demo" --photo "$photo" --model "$model" --rynd "$rynd" --out "$out/demo" > "$out/demo.txt"
        printf '%s %s %s dB, bicubic %s dB\n' "$(basename "$(dirname "$model")")/$(basename "$model")" "$(basename "$photo")" \
            "$(awk '$1 == "rynd" { print $2 }' "$out/demo.txt")" "$(awk '$1 == "bicubic" { print $2 }' "$out/demo.txt")" >> "$out/upscale2x.log"
    done
done
rm "$out/demo.txt"
cat "$out/upscale2x.log"
