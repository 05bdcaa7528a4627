#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One live campaign in a new project: keys, run, verify, gate, site. Started beside a server that speaks
# the Ollama protocol on loopback: python tests/live/run_live.py -- scripts/live_campaign.sh FOLDER CAMPAIGN
# A refused qualification is a result, so the gate may end with 0 or 3; anything else fails.
set -euo pipefail

folder=$1
campaign=corpora/support-behaviors-v1/campaigns/$2.yaml
evalsite=${EVALSITE:-evalsite}

"$evalsite" init "$folder"
cd "$folder"
"$evalsite" keys init
"$evalsite" run "$campaign" --run-id "$2"
"$evalsite" verify
gate=0
"$evalsite" gate "$2" || gate=$?
case $gate in
  0 | 3) ;;
  *) echo "the gate did not decide: exit code $gate" >&2 && exit "$gate" ;;
esac
"$evalsite" build
echo "the record is runs/$2 in $folder"
