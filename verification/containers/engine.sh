# Container engine and images for bin/verify --containers; sourced by it, after common.sh.

image_list=$root/lock-testkit/src/main/resources/dev/holdfast/lock/testkit/server/process/images.properties
engine_pid=''

# container_modules MODULE…: those that have tests in containers.
container_modules() {
  local module
  for module in "$@"; do
    if grep -rqs --include='*.java' -e '@Tag("containers")' "$module/src/test"; then echo "$module"; fi
  done | paste -sd ' '
}

# image_keys MODULE…: which images they need, as a regular expression of the products.
image_keys() {
  local module
  for module in "$@"; do
    case $module in
      lock-redis) echo 'redis|valkey' ;;
      lock-jdbc) echo 'postgres|mariadb|mysql' ;;
      *) echo "${module#lock-}" ;;
    esac
  done | paste -sd '|'
}

# use_engine FOLDER: makes sure that a container engine answers. Where there is none it installs and starts one, which
# listens in that folder only and ends with stop_engine. Containers and builds share this machine's network, so that it
# needs no bridge, no iptables and no forwarding, and changes nothing of them.
use_engine() {
  local folder=$1 context i
  export HOLDFAST_RUN=${folder##*/} # a label of this run's containers
  if command -v docker >/dev/null 2>&1 && docker info >/dev/null 2>&1; then
    echo "verify: using the container engine that answers: $(docker version --format '{{.Server.Version}}')"
    # Testcontainers does not know the contexts of the docker command.
    context=$(docker context inspect --format '{{.Endpoints.docker.Host}}' 2>/dev/null) || context=''
    case ${DOCKER_HOST:-$context} in unix://*) export DOCKER_HOST=${DOCKER_HOST:-$context} ;; esac
    return
  fi
  [ -z "${DOCKER_HOST:-}" ] ||
    fail "no container engine answers at DOCKER_HOST=$DOCKER_HOST. Start it, or unset DOCKER_HOST"
  [ "$(uname -s)" = Linux ] && [ "$(id -u)" -eq 0 ] ||
    fail "no container engine answers ('docker info'). Start one that this user may use, and run it again;" \
      "or run this on Linux as root, which installs and starts one"
  install_engine
  export DOCKER_HOST=unix://$folder/engine.sock
  # In a session of its own, so that Ctrl-C leaves it to stop_engine.
  setsid dockerd --host "$DOCKER_HOST" --pidfile "$folder/engine.pid" --bridge none --iptables=false --ip6tables=false \
    --ip-forward=false --ip-masq=false >"$folder/engine.log" 2>&1 &
  engine_pid=$!
  for ((i = 0; i < 120; i++)); do
    docker info >/dev/null 2>&1 && break
    kill -0 "$engine_pid" 2>/dev/null || break
    sleep 1
  done
  if ! docker info >/dev/null 2>&1; then
    tail -n 20 "$folder/engine.log" >&2
    fail "dockerd does not answer; it needs a kernel with overlay and cgroups, the right to use them, and no other dockerd" \
      "on its data (/var/lib/docker). Start an engine otherwise and set DOCKER_HOST"
  fi
  echo "verify: started a container engine of its own: $(docker version --format '{{.Server.Version}}')"
}

install_engine() {
  local packages=(docker.io) policy='' installed=true
  if command -v dockerd >/dev/null 2>&1 && command -v docker >/dev/null 2>&1; then return; fi
  command -v apt-get >/dev/null 2>&1 || fail "no container engine, and no apt-get to install one: install Docker"
  echo "verify: installing a container engine"
  apt-get -o DPkg::Lock::Timeout=300 update -qq || true
  ! apt-cache show docker-cli >/dev/null 2>&1 || packages+=(docker-cli)
  # As in bin/install-servers: nothing is started by its package.
  if [ ! -e /usr/sbin/policy-rc.d ]; then
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod +x /usr/sbin/policy-rc.d
    policy=/usr/sbin/policy-rc.d
  fi
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends \
    "${packages[@]}" >/dev/null || installed=false
  [ -z "$policy" ] || rm -f "$policy"
  "$installed" || fail "cannot install a container engine: ${packages[*]}"
}

# stop_engine: removes the containers of this run that are left, and ends the engine that use_engine has started.
stop_engine() {
  local left
  [ -n "${HOLDFAST_RUN:-}" ] || return 0
  left=$(docker ps -aq --filter "label=holdfast.run=$HOLDFAST_RUN" 2>/dev/null) || true
  [ -z "$left" ] || docker rm -f $left >/dev/null 2>&1 || true
  [ -n "$engine_pid" ] || return 0
  kill "$engine_pid" 2>/dev/null || true
  wait "$engine_pid" 2>/dev/null || true
  engine_pid=''
}

# use_images PATTERN: makes sure that the engine has the images whose keys match an extended regular expression: it pulls
# those that are missing, or builds them from packages where no registry can be reached.
use_images() {
  local key image error missing=() pull=true
  while IFS='=' read -r key image; do
    docker image inspect "$image" >/dev/null 2>&1 && continue
    if "$pull"; then
      echo "verify: pulling $image"
      error=$(timeout 600 docker pull -q "$image" 2>&1 </dev/null) && continue
      echo "verify: no registry gives it ($(tail -n 1 <<<"$error" | cut -c 1-200)); building what is missing from packages"
      pull=false
    fi
    missing+=("$key")
  done < <(grep -E "^($1)-[0-9.]+=" "$image_list")
  if [ "${#missing[@]}" -gt 0 ]; then
    "$root/bin/build-images" "${missing[@]}" ||
      fail "images are missing: ${missing[*]}. Make a registry reachable ('docker pull redis:8'), or build them where" \
        "bin/build-images can run, and bring them with 'docker save' and 'docker load'"
  fi
  # stop_engine cleans up; Testcontainers' own cleaner (Ryuk) would be one more image to pull.
  export TESTCONTAINERS_RYUK_DISABLED=true
  export TESTCONTAINERS_HOST_OVERRIDE=localhost # the containers share this machine's network
}
