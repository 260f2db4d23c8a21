package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.logging.ConsoleHandler;
import java.util.logging.Level;
import java.util.logging.Logger;

/** A child process that connects with random passwords and prints all messages and log lines. */
final class TalkativeProcess {
    static final List<String> PIECES = List.of("kzqCANxw", "vbjARYqj", "wxyHQzk7");
    private static final String SPECIAL = "/?#@;,:%&=()";
    private static final List<String> FORMS = List.of(
            "jdbc:postgresql://127.0.0.1:1/db?user=u&password=*",
            "jdbc:postgresql://u:*@127.0.0.1:1/db",
            "jdbc:postgresql://127.0.0.1:1/db?user=u&password=p&sslpassword=*&sslmode=nosuch",
            "jdbc:mariadb://127.0.0.1:1/db?user=u&password=*",
            "jdbc:mariadb://127.0.0.1:1/db?user=u&password=p&keyStorePassword=*",
            "jdbc:mysql://u:*@127.0.0.1:1/db",
            "jdbc:mysql://u:*@127.0.0.1:1,127.0.0.1:2/db",
            "jdbc:mysql://127.0.0.1:1/db?user=u&password=*",
            "jdbc:mysql://(host=127.0.0.1,port=1,user=u,password=*)/db",
            "jdbc:mysql://address=(host=127.0.0.1)(port=1)(user=u)(password=*)/db",
            "jdbc:h2:tcp://127.0.0.1:1/x;USER=u;PASSWORD=*",
            "jdbc:h2:mem:*a;USER=u;PASSWORD=*;INIT=SELECT nosuch",
            "jdbc:h2:mem:*ab;USER=u;PASSWORD=*"); // connects

    private TalkativeProcess() {}

    /** Argument: the seed. */
    public static void main(String[] args) throws Exception {
        Logger root = Logger.getLogger("");
        root.setLevel(Level.ALL);
        ConsoleHandler console = new ConsoleHandler();
        console.setLevel(Level.ALL);
        root.addHandler(console);
        Random random = new Random(Long.parseLong(args[0]));
        ExecutorService executor = Executors.newFixedThreadPool(24);
        List<Future<?>> attempts = new ArrayList<>();
        for (String form : FORMS) {
            attempts.add(executor.submit(() -> attempt(form.replace("*a", "a").replace("*", PIECES.get(0)))));
            for (int i = 0; i < 25; i++) {
                String uri = form.replace("*a", "a" + i).replace("*", password(random));
                attempts.add(executor.submit(() -> attempt(uri)));
            }
        }
        for (Future<?> attempt : attempts) {
            attempt.get();
        }
        System.out.println("attempts: " + attempts.size());
        System.exit(0);
    }

    private static String password(Random random) {
        StringBuilder password = new StringBuilder();
        for (String piece : PIECES) {
            for (int i = random.nextInt(3); i > 0; i--) {
                password.append(SPECIAL.charAt(random.nextInt(SPECIAL.length())));
            }
            password.append(piece);
        }
        return password.toString();
    }

    private static void attempt(String uri) {
        LockClientOptions options = LockClientOptions.builder()
                .requestTimeout(Duration.ofMillis(1_200))
                .build();
        try (LockClient client = LockClient.connect(uri, options)) {
            System.out.println(client);
        } catch (RuntimeException e) {
            e.printStackTrace();
        }
        Thread.getAllStackTraces().keySet().forEach(thread -> System.out.println(thread.getName()));
    }
}
