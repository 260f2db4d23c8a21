# bin/verify --versions; sourced, not run. Runs a part of the contract on other versions of the stores' clients than the
# build's: the oldest that work, and those of Spring Boot's bills of materials, with the Netty, Reactor and SLF4J that come
# with them. The modules are compiled once, against the build's versions, as they are published.

. "$(dirname "${BASH_SOURCE[0]}")/spring.sh"

boot_35=3.5.16
boot_40=4.0.9

# A line is a cell of docs/compatibility.md: module, class of the tests, client, column, bill of materials, artifacts. An
# artifact without a version has the one of the bill of materials.
version_cells() {
  local netty=io.netty:netty-bom:$(pom_property netty.version)
  local redis='io.netty:netty-handler io.netty:netty-transport io.netty:netty-resolver-dns'
  local etcd='io.netty:netty-codec-http2 io.netty:netty-handler-proxy io.netty:netty-resolver-dns io.netty:netty-transport-native-unix-common'
  local zookeeper='io.netty:netty-handler io.netty:netty-transport-classes-epoll'
  local memcached='io.netty:netty-handler io.netty:netty-transport io.netty:netty-codec'
  local boot35=org.springframework.boot:spring-boot-dependencies:$boot_35
  local boot40=org.springframework.boot:spring-boot-dependencies:$boot_40
  local curator="org.apache.curator:curator-framework org.apache.zookeeper:zookeeper"
  cat <<END
lock-redis dev.holdfast.lock.redis.RedisNotifiedContractTest Lettuce oldest $netty io.lettuce:lettuce-core:6.2.7.RELEASE $redis
lock-redis dev.holdfast.lock.redis.RedisNotifiedContractTest Lettuce boot-3.5 $boot35 io.lettuce:lettuce-core $redis
lock-redis dev.holdfast.lock.redis.RedisNotifiedContractTest Lettuce boot-4.0 $boot40 io.lettuce:lettuce-core $redis
lock-redis dev.holdfast.lock.redis.RedisNotifiedContractTest Lettuce newest - -
lock-redis dev.holdfast.lock.redis.RedisClusterContractTest Lettuce-cluster oldest $netty io.lettuce:lettuce-core:6.2.7.RELEASE $redis
lock-redis dev.holdfast.lock.redis.RedisClusterContractTest Lettuce-cluster boot-3.5 $boot35 io.lettuce:lettuce-core $redis
lock-redis dev.holdfast.lock.redis.RedisClusterContractTest Lettuce-cluster boot-4.0 $boot40 io.lettuce:lettuce-core $redis
lock-redis dev.holdfast.lock.redis.RedisClusterContractTest Lettuce-cluster newest - -
lock-etcd dev.holdfast.lock.etcd.EtcdSingleContractTest jetcd oldest io.netty:netty-bom:4.1.103.Final io.etcd:jetcd-core:0.7.7 $etcd
lock-etcd dev.holdfast.lock.etcd.EtcdSingleContractTest jetcd boot-3.5 $boot35 io.etcd:jetcd-core:$(pom_property jetcd.version) $etcd
lock-etcd dev.holdfast.lock.etcd.EtcdSingleContractTest jetcd boot-4.0 $boot40 io.etcd:jetcd-core:$(pom_property jetcd.version) $etcd
lock-etcd dev.holdfast.lock.etcd.EtcdSingleContractTest jetcd newest - -
lock-zookeeper dev.holdfast.lock.zookeeper.ZooKeeperSingleContractTest Curator oldest $netty org.apache.curator:curator-framework:5.7.1 $zookeeper
lock-zookeeper dev.holdfast.lock.zookeeper.ZooKeeperSingleContractTest Curator boot-3.5 $boot35 org.apache.curator:curator-framework:$(pom_property curator.version) org.apache.zookeeper:zookeeper:$(pom_property zookeeper.version) $zookeeper
lock-zookeeper dev.holdfast.lock.zookeeper.ZooKeeperSingleContractTest Curator boot-4.0 $boot40 org.apache.curator:curator-framework:$(pom_property curator.version) org.apache.zookeeper:zookeeper:$(pom_property zookeeper.version) $zookeeper
lock-zookeeper dev.holdfast.lock.zookeeper.ZooKeeperSingleContractTest Curator newest - -
lock-jdbc dev.holdfast.lock.jdbc.VersionH2MemoryContractTest HikariCP oldest $netty com.zaxxer:HikariCP:5.1.0
lock-jdbc dev.holdfast.lock.jdbc.VersionH2MemoryContractTest HikariCP boot-3.5 $boot35 com.zaxxer:HikariCP com.h2database:h2
lock-jdbc dev.holdfast.lock.jdbc.VersionH2MemoryContractTest HikariCP boot-4.0 $boot40 com.zaxxer:HikariCP com.h2database:h2
lock-jdbc dev.holdfast.lock.jdbc.VersionH2MemoryContractTest HikariCP newest - -
lock-memcached dev.holdfast.lock.memcached.MemcachedContractTest Folsom oldest $netty com.spotify:folsom:1.17.0 $memcached
lock-memcached dev.holdfast.lock.memcached.MemcachedContractTest Folsom boot-3.5 $boot35 com.spotify:folsom:$(pom_property folsom.version) $memcached
lock-memcached dev.holdfast.lock.memcached.MemcachedContractTest Folsom boot-4.0 $boot40 com.spotify:folsom:$(pom_property folsom.version) $memcached
lock-memcached dev.holdfast.lock.memcached.MemcachedContractTest Folsom newest - -
lock-consul dev.holdfast.lock.consul.ConsulSingleContractTest Gson oldest $netty com.google.code.gson:gson:2.8.9
lock-consul dev.holdfast.lock.consul.ConsulSingleContractTest Gson boot-3.5 $boot35 com.google.code.gson:gson
lock-consul dev.holdfast.lock.consul.ConsulSingleContractTest Gson boot-4.0 $boot40 com.google.code.gson:gson
lock-consul dev.holdfast.lock.consul.ConsulSingleContractTest Gson newest - -
lock-testkit dev.holdfast.lock.memory.MemoryContractTest SLF4J oldest $netty org.slf4j:slf4j-api:1.7.36 org.slf4j:slf4j-simple:1.7.36
lock-testkit dev.holdfast.lock.memory.MemoryContractTest SLF4J boot-3.5 $boot35 org.slf4j:slf4j-api org.slf4j:slf4j-simple
lock-testkit dev.holdfast.lock.memory.MemoryContractTest SLF4J boot-4.0 $boot40 org.slf4j:slf4j-api org.slf4j:slf4j-simple
lock-testkit dev.holdfast.lock.memory.MemoryContractTest SLF4J newest - -
END
}

# What of the contract decides: a grant, its token, renewal, release, waiting and being called, and lost replies.
version_groups='BackendAttempts BackendTokens BackendReleases BackendRenewals BackendAbandonments Exclusion Waiting Async'

pom_property() {
  sed -n "s:.*<$1>\(.*\)</$1>.*:\1:p" pom.xml | head -n 1
}

# artifact_of JAR: its name without the version.
artifact_of() {
  basename "$1" | sed 's/-[0-9][0-9A-Za-z.-]*\.jar$//'
}

# write_pom FOLDER BOM ARTIFACT…: a build that only resolves.
write_pom() {
  local folder=$1 bom=$2 artifact parts
  shift 2
  {
    echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    echo '<groupId>versions</groupId><artifactId>versions</artifactId><version>1</version><packaging>pom</packaging>'
    IFS=: read -r -a parts <<<"$bom"
    echo "<dependencyManagement><dependencies><dependency><groupId>${parts[0]}</groupId><artifactId>${parts[1]}</artifactId>"
    echo "<version>${parts[2]}</version><type>pom</type><scope>import</scope></dependency></dependencies></dependencyManagement>"
    echo '<dependencies>'
    for artifact in "$@"; do
      IFS=: read -r -a parts <<<"$artifact"
      echo "<dependency><groupId>${parts[0]}</groupId><artifactId>${parts[1]}</artifactId>"
      [ -z "${parts[2]:-}" ] || echo "<version>${parts[2]}</version>"
      # As lock-redis, lock-etcd and lock-zookeeper do.
      echo '<exclusions><exclusion><groupId>redis.clients.authentication</groupId><artifactId>*</artifactId></exclusion>'
      echo '<exclusion><groupId>io.netty</groupId><artifactId>netty-codec-native-quic</artifactId></exclusion>'
      echo '<exclusion><groupId>io.netty</groupId><artifactId>netty-tcnative-boringssl-static</artifactId></exclusion>'
      echo '<exclusion><groupId>io.netty</groupId><artifactId>netty-transport-native-epoll</artifactId></exclusion></exclusions></dependency>'
    done
    echo '</dependencies></project>'
  } >"$folder/pom.xml"
}

# version_class_path MODULE FOLDER WORK: the module's class path of the tests, with what was resolved in the place of its own.
version_class_path() {
  local own jar taken='' netty=false
  own=$(tr ':' '\n' <"$1/target/versions-class-path.txt")
  if [ -d "$2/jars" ]; then
    for jar in "$2"/jars/*.jar; do
      taken="$taken $(artifact_of "$jar")"
      printf '%s:' "$jar"
    done
    [[ "$taken" != *netty-common* ]] || netty=true
  fi
  printf '%s:%s' "$3/built/$1/target/test-classes" "$3/built/$1/target/classes"
  while read -r jar; do
    if [[ "$jar" == *.jar && " $taken " == *" $(artifact_of "$jar") "* ]]; then continue; fi
    if "$netty" && [[ "$jar" == */io/netty/* ]]; then continue; fi
    printf ':%s' "$jar"
  done <<<"$own"
}

# keep_classes FOLDER MODULE…: copies what was compiled, and lets the class paths name the copies, so that somebody who
# compiles during the run does not take the classes away from under it.
keep_classes() {
  local folder=$1 module kind
  shift
  for module in lock-api lock-memory "$@"; do
    for kind in classes test-classes; do
      [ -d "$module/target/$kind" ] || continue
      mkdir -p "$folder/built/$module/target"
      cp -r "$module/target/$kind" "$folder/built/$module/target/"
    done
  done
  for module in "$@"; do
    sed -i "s:$root/:$folder/built/:g" "$module/target/versions-class-path.txt"
  done
}

# complete REPORT: whether each group that decides has run at least one test.
complete() {
  local group
  for group in $version_groups; do
    grep -q "nested-class:$group\]" "$1" || {
      echo "verify: no test of $group ran"
      return 1
    }
  done
}

# found_version CLASS_PATH ARTIFACT: the version of one jar of a class path.
found_version() {
  tr ':' '\n' <<<"$1" | sed -n "s:.*/$2-\([0-9][^/]*\)\.jar\$:\1:p" | head -n 1
}

# count FILE ATTRIBUTE: the sum over the file's suites.
count() {
  grep -o '<testsuite [^>]*>' "$1" | grep -o " $2=\"[0-9]*\"" | tr -dc '0-9\n' | awk '{ n += $1 } END { print n + 0 }'
}

# verify_versions WORK [CLIENT]: runs all cells, or those of one client, prints the table, then the counts.
verify_versions() {
  local folder=$1 only=${2:-} modules='lock-testkit lock-jdbc lock-redis lock-etcd lock-zookeeper lock-consul lock-memcached'
  local module class client column bom artifacts cell path reports status=0 file group selected console artifact
  if [[ "$only" = Spring* ]]; then
    only=${only#Spring}
    verify_spring "$folder" "${only#-}"
    return
  fi
  for module in $modules; do rm -rf "$module"/target/surefire-reports*; done
  echo "verify: compiling"
  maven -B -ntp -q -pl "${modules// /,}" -am test-compile dependency:build-classpath -Dspotless.check.skip=true \
    -Dmdep.includeScope=test -Dmdep.outputFile=target/versions-class-path.txt ||
    fail "the build failed; its output is above"
  maven -B -ntp -q dependency:copy -N -DoutputDirectory="$folder" \
    -Dartifact=org.junit.platform:junit-platform-console-standalone:"$(pom_property junit.version)"
  keep_classes "$folder" $modules
  console=$(echo "$folder"/junit-platform-console-standalone-*.jar)
  printf '%-16s %-9s %-16s %-16s %-8s %7s %7s %7s\n' client column version netty slf4j passed failed skipped >"$folder/table"
  while read -r module class client column bom artifacts; do
    [ -z "$only" ] || [ "$client" = "$only" ] || continue
    cell="$folder/$client-$column"
    mkdir -p "$cell"
    if [ "$bom" != - ]; then
      write_pom "$cell" "$bom" $artifacts
      maven -B -ntp -q -f "$cell/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$cell/jars" ||
        fail "cannot resolve $artifacts with $bom"
    fi
    path=$(version_class_path "$module" "$cell" "$folder")
    reports="$root/$module/target/surefire-reports-versions-$client-$column"
    selected=()
    for group in $version_groups; do
      selected+=(--select-unique-id "[engine:junit-jupiter]/[class:$class]/[nested-class:$group]")
    done
    echo "verify: $client, $column"
    (cd "$module" && "${JAVA_HOME:+$JAVA_HOME/bin/}java" -Xmx1g -Dholdfast.servers=native -cp "$path:$console" \
      org.junit.platform.console.ConsoleLauncher execute "${selected[@]}" --details=none --disable-banner \
      --exclude-tag containers --exclude-tag virtual-threads --reports-dir "$reports") >"$cell/log" 2>&1 || true
    case $client in
      Lettuce*) artifact=lettuce-core ;;
      jetcd) artifact=jetcd-core ;;
      Curator) artifact=curator-framework ;;
      HikariCP) artifact=HikariCP ;;
      Folsom) artifact=folsom ;;
      Gson) artifact=gson ;;
      *) artifact=slf4j-api ;;
    esac
    file="$reports/TEST-junit-jupiter.xml"
    if [ ! -e "$file" ]; then
      tail -n 40 "$cell/log"
      echo "verify: $client, $column: the test JVM ended early"
      status=1
      continue
    fi
    complete "$file" || {
      tail -n 40 "$cell/log"
      echo "verify: $client, $column: not all groups ran"
      status=1
    }
    [ "$(count "$file" failures)$(count "$file" errors)" = 00 ] || tail -n 60 "$cell/log"
    printf '%-16s %-9s %-16s %-16s %-8s %7d %7d %7d\n' "$client" "$column" "$(found_version "$path" "$artifact")" \
      "$(found_version "$path" netty-common)" "$(found_version "$path" slf4j-api)" \
      "$(($(count "$file" tests) - $(count "$file" failures) - $(count "$file" errors) - $(count "$file" skipped)))" \
      "$(($(count "$file" failures) + $(count "$file" errors)))" "$(count "$file" skipped)" >>"$folder/table"
  done < <(version_cells)
  echo
  cat "$folder/table"
  [ -n "$only" ] || verify_spring "$folder" || status=1
  "${JAVA_HOME:+$JAVA_HOME/bin/}java" verification/tools/TestReport.java "$status" $modules || status=1
  return "$status"
}
