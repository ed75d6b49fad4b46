#!/bin/sh
# Adds two numbers.
echo $(($1 - $2))
