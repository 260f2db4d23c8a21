package dev.holdfast.lock.redis.internal.script;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.RedisServer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What the server does for a lock of which 1,000 permits are held. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@House("scale:permits")
final class ThousandPermitsTest {
    private static final int PERMITS = 1_000;
    private static final int MAX_MICROS = 5_000;
    private static final String REFERENCE = "local t = {} for i = 1, 5000 do t[i] = tostring(i) end return #t";
    /** On the machine for which the bound was set. */
    private static final long REFERENCE_MICROS = 2_000;

    private static final String[] KEYS = RedisKeys.of("p", "n").withLimit();
    private static final String MEMORY = "60000";

    private RedisServer server;

    @BeforeAll
    void start() throws Exception {
        server = RedisServer.start();
        for (RedisScript script : RedisDemandScripts.ALL) {
            server.command("SCRIPT", "LOAD", script.body());
        }
    }

    @AfterAll
    void stop() {
        server.close();
    }

    @BeforeEach
    void hold() throws IOException {
        hold(1_000_000_020_000L);
    }

    /** All permits are held for 30 s, and none has ended before that time of the record. */
    private void hold(long bound) throws IOException {
        StringBuilder state =
                new StringBuilder("0 + 60000 1600000000000000 - p 1000 1000 1000 " + bound + " 1000000030000 1");
        IntStream.range(0, PERMITS)
                .forEach(i -> state.append(String.format("\n%032x\t%d\t1 %d 1000000030000 1 1 h me", i, i + 1, i + 5)));
        server.command("SET", KEYS[0], state.toString(), "PX", "90000");
    }

    private List<?> run(RedisScript script, String[] keys, List<String> args) throws IOException {
        List<String> words = new ArrayList<>(List.of("EVALSHA", script.digest(), Integer.toString(keys.length)));
        words.addAll(Arrays.asList(keys));
        words.addAll(args);
        return server.list(words.toArray(String[]::new));
    }

    private List<?> renew(List<Integer> holders) throws IOException {
        String[] keys = new String[holders.size()];
        Arrays.fill(keys, KEYS[0]);
        List<String> args = new ArrayList<>(List.of(MEMORY));
        for (int holder : holders) {
            args.addAll(List.of(String.format("%032x", holder), "50000", Integer.toString(holder + 5)));
        }
        return run(RedisDemandScripts.RENEW, keys, args);
    }

    private static List<Integer> hundred(int from) {
        return new ArrayList<>(IntStream.range(from, from + 100).boxed().toList());
    }

    /** The holders whose leases were extended. */
    private List<Integer> extended() throws IOException {
        List<Integer> extended = new ArrayList<>();
        String[] lines = String.valueOf(server.command("GET", KEYS[0])).split("\n");
        assertThat(lines).hasSize(PERMITS + 1);
        for (int i = 0; i < PERMITS; i++) {
            Matcher line = Pattern.compile("([0-9a-f]{32})\t(\\d+)\t1 (\\d+) (\\d+) 1 1 h me")
                    .matcher(lines[i + 1]);
            assertThat(line.matches()).as(lines[i + 1]).isTrue();
            assertThat(Integer.parseInt(line.group(1), 16)).isEqualTo(i);
            assertThat(line.group(2)).isEqualTo("" + (i + 1));
            assertThat(line.group(3)).isEqualTo("" + (i + 5));
            if (Long.parseLong(line.group(4)) > 1_000_000_030_000L) {
                extended.add(i);
            }
        }
        return extended;
    }

    private long statistic(String command, String what) throws IOException {
        Matcher found = Pattern.compile("cmdstat_" + command + ":.*?\\b" + what + "=(\\d+)")
                .matcher(String.valueOf(server.command("INFO", "commandstats")));
        return found.find() ? Long.parseLong(found.group(1)) : 0;
    }

    @Test
    void renewalOfAHundred_readsAndWritesTheStateOnce() throws Exception {
        server.command("CONFIG", "RESETSTAT");

        assertThat(renew(hundred(300))).hasSize(100).allMatch(answer -> answer.equals(1L));

        assertThat(statistic("get", "calls")).isEqualTo(1);
        assertThat(statistic("pttl", "calls")).isEqualTo(1);
        assertThat(statistic("set", "calls")).isEqualTo(1);
        assertThat(extended()).isEqualTo(hundred(300));
    }

    @Test
    void renewal_inAnyOrder_withSomeThatAreGone_extendsTheOthers() throws Exception {
        List<Integer> holders = hundred(950);
        Collections.shuffle(holders, new Random(7));

        List<?> answers = renew(holders);

        for (int i = 0; i < 100; i++) {
            assertThat(answers.get(i)).isEqualTo(holders.get(i) < PERMITS ? 1L : 3L);
        }
        assertThat(extended()).isEqualTo(hundred(950).subList(0, 50));
    }

    @Test
    void renewalOfTwoLocks_eachWithItsState() throws Exception {
        String[] keys = {KEYS[0], KEYS[0], "p:{other}", KEYS[0]};
        List<String> args = new ArrayList<>(List.of(MEMORY));
        for (int holder : new int[] {1, 2, 3, 4}) {
            args.addAll(List.of(String.format("%032x", holder), "50000", "5"));
        }

        assertThat(run(RedisDemandScripts.RENEW, keys, args).stream().map(String::valueOf))
                .containsExactly("1", "1", "0", "1");
        assertThat(extended()).containsExactly(1, 2, 4);
    }

    @FunctionalInterface
    private interface Step {
        Object run(int round) throws IOException;
    }

    /** What the server's process has used of a processor; the time of a script would be longer on a busy machine. */
    private long usedMicros() throws IOException {
        String cpu = String.valueOf(server.command("INFO", "cpu"));
        double seconds = 0;
        for (String what : List.of("used_cpu_sys", "used_cpu_user")) {
            Matcher found = Pattern.compile("\\b" + what + ":([0-9.]+)").matcher(cpu);
            assertThat(found.find()).as(what).isTrue();
            seconds += Double.parseDouble(found.group(1));
        }
        return Math.round(seconds * 1e6);
    }

    /**
     * The least of some runs: the server may have something else to do during the others. A processor that others use as well is slower,
     * for a script of a known cost too, so the result is what it would be without them.
     */
    private long micros(long bound, Step step) throws IOException {
        long least = Long.MAX_VALUE;
        long reference = Long.MAX_VALUE;
        for (int i = 0; i < 10; i++) {
            hold(bound);
            long before = usedMicros();
            step.run(i);
            least = Math.min(least, usedMicros() - before);
            long between = usedMicros();
            server.command("EVAL", REFERENCE, "0");
            reference = Math.min(reference, usedMicros() - between);
        }
        System.out.println(
                "processor time of a script with 1,000 permits: " + least + " µs, of the reference " + reference);
        return least * REFERENCE_MICROS / Math.max(REFERENCE_MICROS, reference);
    }

    private Object attempt(String limit) throws IOException {
        return run(
                RedisDemandScripts.ATTEMPT,
                KEYS,
                List.of("f".repeat(32), "90000", MEMORY, "1", "7 h me", "0 young - x 0", "p", "1", limit));
    }

    private Object release(int holder) throws IOException {
        String[] end = RedisScript.end(String.format("%032x", holder), 5, MEMORY, "release", "f".repeat(16));
        return run(RedisDemandScripts.RELEASE, Arrays.copyOf(KEYS, 3), List.of(end));
    }

    @Test
    void eachScript_endsWithinFiveMilliseconds() throws Exception {
        long later = 1_000_000_020_000L;
        assertThat(micros(later, round -> renew(hundred(round)))).as("renewal").isLessThan(MAX_MICROS);
        assertThat(micros(0, round -> renew(hundred(round)))).as("with a sweep").isLessThan(MAX_MICROS);
        assertThat(micros(later, round -> release(round))).as("release").isLessThan(MAX_MICROS);
        assertThat(micros(later, round -> attempt("1000"))).as("no permit left").isLessThan(MAX_MICROS);
    }

    /** The lowest free slot is found by one pass: the state says only that it is not below the first. */
    @Test
    void attempt_freeSlotBehindAThousand_endsWithinFiveMilliseconds() throws Exception {
        long micros = micros(1_000_000_020_000L, round -> {
            String state = String.valueOf(server.command("GET", KEYS[0]));
            server.command("SET", KEYS[0], state.replace("p 1000 ", "p 1001 "), "PX", "90000");
            assertThat(((List<?>) attempt("1001")).get(4)).isEqualTo(1_001L);
            return 1;
        });
        assertThat(micros).isLessThan(MAX_MICROS);
    }
}
