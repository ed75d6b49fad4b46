#!/bin/sh
# Builds out/app from src/; takes its time.
mkdir -p out
for step in 1 2 3 4; do echo "step $step of 4"; sleep 1; done
cat src/*.txt | cksum | cut -d ' ' -f 1 > out/app
echo built
