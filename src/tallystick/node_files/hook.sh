#!/bin/sh
# Tallystick @HOOK@. It always ends with 0 and in time: evidence may be lost, a job never.
# Slurm sets no PATH. The limit is above the hook's own, for an interpreter that hangs.
trap 'exit 0' TERM INT HUP
PATH=/usr/bin:/bin:/usr/sbin:/sbin
export PATH
timeout -k 1 @LIMIT@ @PYTHON@ -IS @FILE@ @HOOK@ --config @CONFIG@ </dev/null @OUTPUT@
status=$?
[ "$status" -eq 0 ] && exit 0
# No interpreter, or a broken one: keep what Slurm said, for `tallystick collect slurm`.
umask 077
dumps=@SPOOL@/$(id -u)/dumps
mkdir -p "$dumps" 2>/dev/null && {
    echo "#hook=@DUMP@ start=$(date +%s.%N) status=$status"
    env | grep -E '^(SLURM|SLURMD|CUDA_VISIBLE|GPU_DEVICE)[A-Z0-9_]*='
    echo "#end=$(date +%s.%N)"
} >"$dumps/$(date +%s.%N).@DUMP@.$$.env" 2>/dev/null
exit 0
