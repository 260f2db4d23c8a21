package dev.holdfast.lock.redis.internal.script;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.server.RedisServer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What each script answers and leaves: {@code redis-scripts.cases}. The scripts run in a server, whose clock and listeners are the
 * test's, so that every number can be told.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RedisScriptsTest {
    private static final long MICROS = 1_700_000_000_000_005L;
    private static final RedisKeys KEYS = RedisKeys.of("p", "n");
    private static final List<String> PARTS =
            List.of("answer", "told", "lock", "crowd", "wait", "entry", "limit", "queue", "first");
    private static final Pattern CLOCK = Pattern.compile("\\$([Tt])([+-]\\d+)?");
    private static final Map<String, String> BODIES = Stream.concat(
                    RedisScript.ALL.stream(), RedisDemandScripts.ALL.stream())
            .collect(Collectors.toMap(RedisScript::name, RedisScript::body));

    private RedisServer server;
    private String world;

    @BeforeAll
    void start() throws Exception {
        world = text("redis-scripts.lua");
        server = RedisServer.start();
    }

    @AfterAll
    void stop() {
        server.close();
    }

    /**
     * A script's run.
     *
     * @param given what is there before
     * @param run the script and its arguments
     * @param then what it answers, and what is there afterwards
     */
    private record Case(String name, List<String> given, List<String> run, List<String> then) {
        @Override
        public String toString() {
            return name;
        }

        boolean isMoving() {
            return run.get(0).equals("moving");
        }

        List<String> words() {
            return isMoving() ? run.subList(1, run.size()) : run;
        }

        String script() {
            return words().get(0);
        }

        int keys() {
            return switch (script()) {
                case "attempt", "release", "release-in-line", "listed" -> isMoving() ? 1 : 3;
                case "attempt-in-line", "change-limit" -> isMoving() ? 1 : 4;
                default -> 1;
            };
        }

        String[] arguments() {
            List<String> words = words();
            return switch (script()) {
                case "attempt" -> attempt(words.get(1), words.subList(2, 7), List.of());
                case "attempt-in-line" -> attempt(words.get(1), words.subList(5, 10), words.subList(2, 5));
                case "release", "release-in-line" ->
                    RedisScript.end(
                            words.get(1),
                            Long.parseLong(words.get(2)),
                            "60000",
                            words.get(3),
                            words.get(4).equals(".") ? "" : words.get(4));
                case "renew", "renew-in-line" -> new String[] {"60000", words.get(1), words.get(2), words.get(3)};
                default -> words.subList(1, words.size()).toArray(String[]::new);
            };
        }

        private static String[] attempt(String owner, List<String> wait, List<String> demand) {
            String[] ownerAndGeneration = owner.split("@");
            List<String> all = new ArrayList<>(List.of(
                    ownerAndGeneration[0],
                    "90000",
                    "60000",
                    ownerAndGeneration.length > 1 ? ownerAndGeneration[1] : "3",
                    "7 h me",
                    String.join(" ", wait).replace(" . ", "  ")));
            all.addAll(demand);
            return all.toArray(String[]::new);
        }

        /** Four words for each thing. */
        List<String> things() {
            List<String> things = new ArrayList<>();
            for (String line : given) {
                String[] words = line.split(" ", 4);
                String[] thing = switch (words[0]) {
                    case "lock", "limit" -> line.split(" ", 3);
                    case "wait" -> words;
                    case "entry", "crowd" -> {
                        String[] parts = line.split(" ", 3);
                        yield new String[] {parts[0], parts[1], "", parts.length > 2 ? parts[2] : ""};
                    }
                    default -> words;
                };
                for (int i = 0; i < 4; i++) {
                    things.add(i < thing.length ? raw(thing[i]) : "");
                }
            }
            return things;
        }

        private static String raw(String text) {
            return text.replaceAll("_$", " ").replace("\\n", "\n").replace("\\t", "\t");
        }

        List<String> expected() {
            List<String> before = given.stream()
                    .filter(line -> PARTS.contains(line.split(" ")[0]))
                    .map(line -> line.startsWith("crowd ") ? line.replaceAll("^(\\S+ \\S+).*", "$1") : line)
                    .toList();
            List<String> expected = new ArrayList<>();
            for (String line : then) {
                if (line.equals("same")) {
                    expected.addAll(before);
                } else if (line.endsWith(" =")) {
                    String known = line.substring(0, line.length() - 1);
                    expected.add(before.stream()
                            .filter(each -> each.startsWith(known))
                            .findFirst()
                            .orElseThrow());
                } else {
                    expected.add(line);
                }
            }
            expected.sort(Comparator.comparingInt(line -> PARTS.indexOf(line.split(" ")[0])));
            return expected;
        }
    }

    static List<Case> cases() throws IOException {
        List<Case> cases = new ArrayList<>();
        List<String> given = new ArrayList<>();
        List<String> then = new ArrayList<>();
        for (String line : text("redis-scripts.cases").lines().toList()) {
            String known = CLOCK.matcher(line)
                    .replaceAll(found -> Long.toString((found.group(1).equals("T") ? MICROS : MICROS / 1000)
                            + (found.group(2) == null ? 0 : Long.parseLong(found.group(2)))))
                    .replace("$R", "0123456789abcdef")
                    .replace("$4", ids(4))
                    .replace("$3", ids(3));
            if (known.startsWith("case ")) {
                given = new ArrayList<>();
                then = new ArrayList<>();
                cases.add(new Case(known.substring(5), given, new ArrayList<>(), then));
            } else if (known.startsWith("do ")) {
                cases.get(cases.size() - 1)
                        .run()
                        .addAll(List.of(known.substring(3).split(" ")));
            } else if (!known.isEmpty() && !known.startsWith("#")) {
                (cases.get(cases.size() - 1).run().isEmpty() ? given : then).add(known);
            }
        }
        return cases;
    }

    private static String ids(int count) {
        StringBuilder ids = new StringBuilder();
        for (int i = 0; i < count; i++) {
            ids.append(Integer.toString(i).repeat(16));
        }
        return ids.toString();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("cases")
    void script_answersAndLeaves(Case one) throws Exception {
        String body = Objects.requireNonNull(BODIES.get(one.script()), one.script());
        List<String> command = new ArrayList<>(List.of("EVAL", world.replace("\nSCRIPT\n", "\n" + body + "\n"), "4"));
        command.addAll(Arrays.asList(KEYS.withLimit()));
        List<String> things = one.things();
        command.addAll(List.of("1700000000", "5", Integer.toString(things.size() / 4)));
        command.addAll(things);
        command.add(Integer.toString(one.keys()));
        command.addAll(Arrays.asList(one.arguments()));

        List<String> answered = server.list(command.toArray(String[]::new)).stream()
                .map(String::valueOf)
                .toList();

        assertThat(String.join("\n", answered)).isEqualTo(String.join("\n", one.expected()));
    }

    private static String text(String resource) throws IOException {
        try (InputStream in =
                Objects.requireNonNull(RedisScriptsTest.class.getResourceAsStream("/" + resource), resource)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
