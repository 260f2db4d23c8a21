# bin/verify --versions Spring; sourced by run.sh. Runs FiveMinutesIT and ThreeInstancesIT, compiled against the build's Spring Boot, on the
# class path of each version of Spring Boot, on the oldest and the newest JDK found, with platform and with virtual threads.

# spring_artifacts BOOT: what the two tests' applications have of Spring Boot, whose bill of materials decides their versions.
spring_artifacts() {
  local web='spring-boot-starter-webmvc spring-boot-starter-aspectj' artifact
  [[ $1 != 3.* ]] || web='spring-boot-starter-web spring-boot-starter-aop'
  for artifact in spring-boot-starter spring-boot-starter-jdbc spring-boot-starter-data-redis spring-boot-starter-actuator $web; do
    echo "org.springframework.boot:$artifact"
  done
  echo org.postgresql:postgresql com.h2database:h2 io.micrometer:micrometer-core
  for artifact in codec codec-http2 handler handler-proxy resolver-dns transport transport-classes-epoll transport-native-unix-common; do
    echo "io.netty:netty-$artifact"
  done
}

# spring_class_path MODULE FOLDER: the module's class path of the tests, with everything of Spring as it was resolved.
spring_class_path() {
  local jar taken=''
  for jar in "$2"/jars/*.jar; do
    taken="$taken $(artifact_of "$jar")"
    printf '%s:' "$jar"
  done
  printf '%s:%s' "$root/$1/target/test-classes" "$root/$1/target/classes"
  tr ':' '\n' <"$1/target/versions-class-path.txt" | while read -r jar; do
    case ${jar##*/} in
      spring-*.jar | micrometer-*.jar | reactor-core*.jar | logback-*.jar | netty-*.jar) continue ;;
    esac
    if [[ "$jar" == *.jar && " $taken " == *" $(artifact_of "$jar") "* ]]; then continue; fi
    printf ':%s' "$jar"
  done
}

# verify_spring WORK [VERSION]: runs all cells, or those of one version such as 4.1, and prints the table.
verify_spring() {
  local folder=$1 only=${2:-} modules='integrations/lock-spring-boot-starter examples/spring' status=0 boot cell jdk virtual module class file path aot
  local oldest newest
  oldest=$(find_jdk 17)
  newest=$(find_jdk 24)
  [ -n "$newest" ] || fail "no JDK 24 or newer found; set JAVA_HOME_25 to one"
  maven -B -ntp -q -pl "${modules// /,}" -am process-test-classes dependency:build-classpath -Dspotless.check.skip=true \
    -Dmdep.includeScope=test -Dmdep.outputFile=target/versions-class-path.txt ||
    fail "the build failed; its output is above"
  maven -B -ntp -q dependency:copy -N -DoutputDirectory="$folder" \
    -Dartifact=org.junit.platform:junit-platform-console-standalone:"$(pom_property junit.version)"
  printf '%-18s %-6s %-9s %-16s %7s %7s\n' 'Spring Boot' JDK threads test passed failed >"$folder/spring-table"
  for boot in "$boot_35" "$boot_40" "$(pom_property spring-boot.version)"; do
    [[ "$boot" == "$only"* ]] || continue
    cell="$folder/spring-$boot"
    mkdir -p "$cell"
    write_pom "$cell" "org.springframework.boot:spring-boot-dependencies:$boot" $(spring_artifacts "$boot")
    maven -B -ntp -q -f "$cell/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$cell/jars" ||
      fail "cannot resolve Spring Boot $boot"
    aot=$([ "$boot" = "$(pom_property spring-boot.version)" ] && echo true || echo false) # processed with the build's version
    for jdk in "$oldest" "$newest"; do
      for virtual in false true; do
        if "$virtual" && [ "$jdk" = "$oldest" ]; then continue; fi
        for module in $modules; do
          class=dev.holdfast.lock.spring.boot.FiveMinutesIT
          [ "$module" != examples/spring ] || class=dev.holdfast.examples.spring.ThreeInstancesIT
          echo "verify: Spring Boot $boot, JDK $(java_major "$jdk/bin/java"), virtual threads $virtual: ${class##*.}"
          path=$(spring_class_path "$module" "$cell")
          (cd "$module" && SPRING_THREADS_VIRTUAL_ENABLED=$virtual "$jdk/bin/java" -Xmx1g -Dholdfast.servers=native \
            -Dholdfast.spring.aot="$aot" -cp "$path:$(echo "$folder"/junit-platform-console-standalone-*.jar)" \
            org.junit.platform.console.ConsoleLauncher execute --select-class "$class" --details=none --disable-banner \
            --reports-dir "$cell/reports") >"$cell/log" 2>&1 || true
          file="$cell/reports/TEST-junit-jupiter.xml"
          if [ ! -e "$file" ] || [ "$(count "$file" tests)" = 0 ] || [ "$(count "$file" failures)$(count "$file" errors)$(count "$file" skipped)" != 000 ]; then
            tail -n 60 "$cell/log"
            status=1
          fi
          [ -e "$file" ] || continue
          printf '%-18s %-6s %-9s %-16s %7d %7d\n' "$boot" "$(java_major "$jdk/bin/java")" "$("$virtual" && echo virtual || echo platform)" \
            "${class##*.}" "$(($(count "$file" tests) - $(count "$file" failures) - $(count "$file" errors)))" \
            "$(($(count "$file" failures) + $(count "$file" errors)))" >>"$folder/spring-table"
          rm -rf "$cell/reports"
        done
      done
    done
  done
  echo
  cat "$folder/spring-table"
  return "$status"
}
