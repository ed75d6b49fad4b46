#!/bin/sh
echo "helo, $1"
