# Shared by the scripts in this folder; sourced, not run.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Maven is soon over: the second compiler takes more processor time than it saves. The first one alone gets a code cache of 48 MB by itself,
# which is full after some modules; then nothing is compiled any more. With less memory, several compilers at once wait for its collection.
export MAVEN_OPTS="${MAVEN_OPTS:--Xms1500m -Xmx2500m -Xmn1200m -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=192m -XX:+UseSerialGC}"

fail() {
  echo "${0##*/}: $*" >&2
  exit 1
}

# version_at_least FOUND FLOOR: whether a dotted version is at least another.
version_at_least() {
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# java_major JAVA: the feature release of a java binary, such as 17; 0 if it does not run.
java_major() {
  local version
  version=$("$1" -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java.specification.version = //p') || true
  version=${version#1.}
  echo "${version:-0}"
}

# find_jdk FLOOR: prints the home of the lowest JDK of at least that feature release; nothing if there is none.
find_jdk() {
  local floor=$1 home major best='' best_major=0
  for home in "${JAVA_HOME:-}" "${JDK_HOME:-}" $(compgen -A variable | grep -E '^JAVA_HOME_[0-9]+(_X64|_ARM64)?$' |
    while read -r name; do printf '%s\n' "${!name}"; done) \
    "$(command -v javac >/dev/null 2>&1 && dirname "$(dirname "$(readlink -f "$(command -v javac)")")")" \
    /usr/lib/jvm/* /usr/java/* /opt/java/* /opt/jdk* "$HOME"/.sdkman/candidates/java/* "$HOME"/.jdks/* \
    /Library/Java/JavaVirtualMachines/*/Contents/Home; do
    [ -n "$home" ] && [ -x "$home/bin/javac" ] || continue
    major=$(java_major "$home/bin/java")
    if [ "$major" -ge "$floor" ] && { [ "$best_major" -eq 0 ] || [ "$major" -lt "$best_major" ]; }; then
      best=$home
      best_major=$major
    fi
  done
  [ -z "$best" ] || (cd "$best" && pwd -P)
}

# use_java: makes sure that JDK 17 or newer is what Maven runs on.
use_java() {
  local java=java home
  [ -z "${JAVA_HOME:-}" ] || java="$JAVA_HOME/bin/java"
  if ! command -v "$java" >/dev/null 2>&1 || [ "$(java_major "$java")" -lt 17 ] || ! command -v "${java}c" >/dev/null 2>&1; then
    home=$(find_jdk 17)
    [ -n "$home" ] || fail "no JDK 17 or newer found; install one and set JAVA_HOME"
    export JAVA_HOME=$home
  fi
}

# maven ARGUMENTS: Maven from the path when it is new enough, and the wrapper otherwise.
maven() {
  local found=''
  if command -v mvn >/dev/null 2>&1; then
    found=$(mvn -v 2>/dev/null | sed -n 's/.*Apache Maven \([0-9][0-9.]*\).*/\1/p' | head -n 1) || true
  fi
  if [ -n "$found" ] && version_at_least "$found" 3.8.6; then
    mvn "$@"
  else
    "$root/mvnw" "$@"
  fi
}

# build_program MODULE: builds a program and what it needs, quietly, if a source or a POM has changed since the last time.
build_program() {
  local built="$root/$1/target/${0##*/}-built" log
  if [ -e "$built" ] && [ -z "$(find "$root" -name target -prune -o -newer "$built" \
    \( -path '*/src/main/*' -type f -o -name pom.xml \) -print -quit)" ]; then
    return
  fi
  echo "${0##*/}: building (the first time, Maven fetches what it needs)" >&2
  log=$(mktemp)
  (cd "$root" && maven -B -ntp -q -pl "$1" -am -Dmaven.test.skip=true package) >"$log" 2>&1 || {
    cat "$log" >&2
    rm -f "$log"
    fail "the build failed; its output is above"
  }
  rm -f "$log"
  touch "$built"
}
