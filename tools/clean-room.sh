#!/usr/bin/env bash
# Runs the README's first command as a stranger would: a new user account with nothing but Node, npm and git, a fresh clone
# of the current commit; then `npm start` once more without any network. Needs root. `-t` also runs `npm ci && npm test`.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "clean-room: needs root, to make an account" >&2; exit 1; }

user="halfbyte-stranger-$$"
useradd --create-home "$user"
trap 'pkill -u "$user" || true; userdel --remove "$user" 2>/dev/null' EXIT
home=$(getent passwd "$user" | cut -d: -f6)
git clone --quiet . "$home/halfbyte"
chown -R "$user" "$home/halfbyte"

as_stranger() { # as_stranger COMMAND: in the clone, with a login environment of its own
  setpriv --reuid "$user" --regid "$user" --clear-groups env -i HOME="$home" USER="$user" PATH="$PATH" TERM=dumb \
    bash -c "cd '$home/halfbyte' && $1"
}
if [ "${1:-}" = -t ]; then
  as_stranger "npm ci && npm test"
else
  as_stranger "npm ci && npm start"
  echo "clean-room: and offline"
  export -f as_stranger; export user home
  unshare --net bash -c 'as_stranger "npm start -- \"Name three colours.\""'
fi
